import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LateEvents } from "./late-events.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("events are offered again after a while, in their order, and once", async () => {
  const offered: (readonly string[])[] = [];
  const late = new LateEvents(() => void offered.push(late.take()));
  expect([late.keep("a\n"), late.keep("b\n")]).toEqual([true, true]);
  await vi.advanceTimersByTimeAsync(4_999);
  expect(offered).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(offered).toEqual([["a\n", "b\n"]]);
  late.keep("c\n");
  await vi.advanceTimersByTimeAsync(5_000);
  expect(offered).toEqual([["a\n", "b\n"], ["c\n"]]);
});

test("they take a mebibyte at most, whatever a user causes", () => {
  const late = new LateEvents(() => {});
  const line = `${"x".repeat(65_535)}\n`;
  expect(Array.from({ length: 20 }, () => late.keep(line)).filter(Boolean)).toHaveLength(16);
  expect(late.take()).toHaveLength(16);
  expect([late.count, late.keep(line)]).toEqual([0, true]);
});
