import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LateEvents } from "./late-events.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("events are offered again after a while, in their order, and once", async () => {
  const offered: (readonly string[])[] = [];
  const late = new LateEvents(() => void offered.push(late.take().map(({ text }) => text)));
  expect([late.keep({ text: "a\n" }), late.keep({ text: "b\n" })]).toEqual([true, true]);
  await vi.advanceTimersByTimeAsync(4_999);
  expect(offered).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(offered).toEqual([["a\n", "b\n"]]);
  late.keep({ text: "c\n" });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(offered).toEqual([["a\n", "b\n"], ["c\n"]]);
});

test("they take a mebibyte at most, whatever a user causes", () => {
  const late = new LateEvents(() => {});
  const line = { text: `${"x".repeat(65_535)}\n` };
  expect(Array.from({ length: 20 }, () => late.keep(line)).filter(Boolean)).toHaveLength(16);
  expect(late.take()).toHaveLength(16);
  expect([late.count, late.keep(line)]).toEqual([0, true]);
});
