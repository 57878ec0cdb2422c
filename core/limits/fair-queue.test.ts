import { expect, test } from "vitest";
import { createFairQueue } from "./fair-queue.ts";

/** Calls that run until `end`, and what became of each. */
function world(options: Parameters<typeof createFairQueue>[0]) {
  const queue = createFairQueue(options);
  const begun: string[] = [];
  const refused: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (key: string, name: string): Promise<void> =>
    queue(key, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    }).catch(({ code }: { code: string }) => void refused.push(`${name} ${code}`));
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { begun, refused, start, end };
}

test("keys take turns, however many calls one of them has", async () => {
  const { begun, refused, start, end } = world({ atOnce: 1, waiting: 10 });
  for (const name of ["a1", "a2", "a3", "a4"]) void start("a", name);
  void start("b", "b1");
  for (const name of ["a1", "a2", "b1", "a3", "a4"]) await end(name);
  expect(begun).toEqual(["a1", "a2", "b1", "a3", "a4"]);
  expect(refused).toEqual([]);
});

test("when it is full, a key with fewer takes a place from the one with most, up to the same number; the others are refused", async () => {
  const { begun, refused, start, end } = world({ atOnce: 1, waiting: 4 });
  for (const name of ["a1", "a2", "a3", "a4", "a5", "a6"]) void start("a", name);
  for (const name of ["b1", "b2", "b3"]) void start("b", name);
  await new Promise(setImmediate);
  expect(refused.sort()).toEqual(["a4 limit", "a5 limit", "a6 limit", "b3 limit"]);
  for (const name of ["a1", "a2", "b1", "a3", "b2"]) await end(name);
  expect(begun).toEqual(["a1", "a2", "b1", "a3", "b2"]);
});

test("a call that fails gives its slot to the next one, and a queue that was empty runs again", async () => {
  const queue = createFairQueue({ atOnce: 1, waiting: 1 });
  const failing = queue("a", async () => Promise.reject(new Error("broken")));
  const next = queue("b", async () => "next");
  await expect(failing).rejects.toThrow("broken");
  expect(await next).toBe("next");
  expect(await queue("a", async () => "again")).toBe("again");
});
