import { afterEach, expect, test, vi } from "vitest";
import { callPages } from "./pages.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

interface NumberPage {
  readonly numbers: readonly number[];
  readonly cursor: string;
}

/** Calls a list of so many pages, whose cursors are their numbers. */
async function listed(pages: number) {
  vi.stubGlobal("fetch", async (path: string) => {
    const at = Number(new URL(path, "https://access.example.com").searchParams.get("cursor") ?? 0);
    return await Promise.resolve(Response.json({ numbers: [at], cursor: at + 1 < pages ? String(at + 1) : "" } satisfies NumberPage));
  });
  return await callPages<NumberPage, number>("/numbers", { entries: ({ numbers }) => numbers });
}

test("all pages of a list come, in order", async () => {
  expect(await listed(3)).toEqual({ entries: [0, 1, 2], isCut: false });
  expect(await listed(100)).toMatchObject({ isCut: false });
});

test("a list that has more pages than the bound is marked as cut", async () => {
  const { entries, isCut } = await listed(101);
  expect([entries.length, isCut]).toEqual([100, true]);
});
