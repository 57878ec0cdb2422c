import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { whenQuiet } from "./when-quiet.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function counted(signal = new AbortController().signal) {
  const state = { acts: 0, busy: false };
  const act = (): void => {
    state.acts += 1;
  };
  return { state, touch: whenQuiet({ isBusy: () => state.busy, act, quietMs: 1000 }, signal) };
}

test("many tasks in a row are followed by one act, when they are over", () => {
  const { state, touch } = counted();
  for (let work = 0; work < 5; work += 1) {
    touch();
    vi.advanceTimersByTime(999);
  }
  expect(state.acts).toBe(0);
  vi.advanceTimersByTime(1);
  expect(state.acts).toBe(1);
  vi.advanceTimersByTime(60_000);
  expect(state.acts).toBe(1);
});

test("nothing happens while it is busy, and the next end of a task triggers it", () => {
  const { state, touch } = counted();
  state.busy = true;
  touch();
  vi.advanceTimersByTime(60_000);
  expect(state.acts).toBe(0);
  state.busy = false;
  touch();
  vi.advanceTimersByTime(1000);
  expect(state.acts).toBe(1);
});

test("nothing happens after the end", () => {
  const end = new AbortController();
  const { state, touch } = counted(end.signal);
  touch();
  end.abort();
  touch();
  vi.advanceTimersByTime(60_000);
  expect(state.acts).toBe(0);
});
