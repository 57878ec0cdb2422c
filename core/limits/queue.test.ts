import { expect, test } from "vitest";
import { createQueue, createQueues, type Queue } from "./queue.ts";

/** Starts calls that run until `end`, and records their order. */
function calls(queue: Queue) {
  const events: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (name: string): Promise<string> =>
    queue(async () => {
      events.push(`${name} starts`);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      events.push(`${name} ends`);
      return name;
    });
  return { events, start, end: (name: string) => ends.get(name)?.() };
}

test("calls beyond the maximum wait in order, and further ones are refused", async () => {
  const { events, start, end } = calls(createQueue({ atOnce: 2, waiting: 2, what: "logins" }));
  const [a, b, c, d] = [start("a"), start("b"), start("c"), start("d")];
  await expect(start("e")).rejects.toMatchObject({ code: "limit", message: "too many concurrent logins; try again shortly" });
  expect(events).toEqual(["a starts", "b starts"]);
  end("b");
  expect(await b).toBe("b");
  end("a");
  await a;
  expect(events).toEqual(["a starts", "b starts", "b ends", "c starts", "a ends", "d starts"]);
  end("c");
  end("d");
  expect(await Promise.all([c, d])).toEqual(["c", "d"]);
});

test("a call that fails gives its slot to the next one", async () => {
  const queue = createQueue({ atOnce: 1, waiting: 1 });
  const failing = queue(async () => {
    throw new Error("broken");
  });
  const next = queue(async () => "next");
  await expect(failing).rejects.toThrow("broken");
  expect(await next).toBe("next");
});

test("a call that leaves while it waits fails with the reason, and those behind it move up", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const queue = createQueue({ atOnce: 1, waiting: 2 });
  const first = queue(() => promise);
  const left = new AbortController();
  const second = expect(queue(async () => "second", left.signal)).rejects.toThrow("gone");
  const third = queue(async () => "third");
  left.abort(new Error("gone"));
  await second;
  // Its place is free again.
  const fourth = queue(async () => "fourth");
  resolve("first");
  expect(await Promise.all([first, third, fourth])).toEqual(["first", "third", "fourth"]);
  await expect(queue(async () => "fifth", left.signal)).rejects.toThrow("gone");
});

test("a signal that a call gives as a function is asked for where the call waits, and ends the wait", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const queue = createQueue({ atOnce: 1, waiting: 2 });
  const left = new AbortController();
  const asked: string[] = [];
  const call = (name: string, work: () => Promise<string>): Promise<string> =>
    queue(work, () => {
      asked.push(name);
      return left.signal;
    });
  const first = call("first", () => promise);
  const second = expect(call("second", async () => "second")).rejects.toThrow("gone");
  left.abort(new Error("gone"));
  await second;
  await expect(call("third", async () => "third")).rejects.toThrow("gone");
  resolve("first");
  expect(await first).toBe("first");
  expect(asked).toEqual(["second", "third"]);
});

test("keys do not wait for each other, and a key that is free again starts afresh", async () => {
  const queues = createQueues({ atOnce: 1, waiting: 0 });
  const first = Promise.withResolvers<string>();
  const a = queues("a", () => first.promise);
  await expect(queues("a", async () => "too early")).rejects.toMatchObject({ code: "limit" });
  expect(await queues("b", async () => "b")).toBe("b");
  first.resolve("a");
  expect(await a).toBe("a");
  expect(await queues("a", async () => "again")).toBe("again");
});
