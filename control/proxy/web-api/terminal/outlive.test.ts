import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { outlive } from "./outlive.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("it ends so long after the signal, and for its reason", () => {
  const first = new AbortController();
  const { signal } = outlive(first.signal, 60_000);
  vi.advanceTimersByTime(1_000_000);
  const gone = new Error("gone");
  first.abort(gone);
  vi.advanceTimersByTime(59_999);
  expect(signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(signal.reason).toBe(gone);
});

test("it ends too if the signal was aborted before", () => {
  const { signal } = outlive(AbortSignal.abort(), 60_000);
  expect(signal.aborted).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect(signal.aborted).toBe(true);
});

test("nothing waits any more once it is ended", () => {
  const [first, second] = [new AbortController(), new AbortController()];
  const [before, after] = [outlive(first.signal, 1_000), outlive(second.signal, 1_000)];
  before.abort();
  first.abort();
  second.abort();
  after.abort();
  expect(vi.getTimerCount()).toBe(0);
});
