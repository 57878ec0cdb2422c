import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { usualLimits } from "./http-handlers.ts";
import { IdleLimit } from "./idle-limit.ts";

let ended = 0;
let limit: IdleLimit;

beforeEach(() => {
  vi.useFakeTimers();
  ended = 0;
  limit = new IdleLimit(usualLimits, () => {
    ended += 1;
  });
});
afterEach(() => {
  limit.stop();
  vi.useRealTimers();
});

const hour = 3_600_000;

test("a connection without a first request ends after its time", () => {
  vi.advanceTimersByTime(usualLimits.firstMs - 1);
  expect(ended).toBe(0);
  vi.advanceTimersByTime(1);
  expect(ended).toBe(1);
});

test("an event stream that is silent for an hour is not idle, whatever other requests end meanwhile", () => {
  const events = limit.begin();
  for (let turn = 0; turn < 10; turn += 1) {
    const short = limit.begin();
    short();
    vi.advanceTimersByTime(hour / 10);
  }
  expect(ended).toBe(0);
  events();
  vi.advanceTimersByTime(usualLimits.idleMs - 1);
  expect(ended).toBe(0);
  vi.advanceTimersByTime(1);
  expect(ended).toBe(1);
});

test("a connection that has become something else has no limit", () => {
  const done = limit.begin();
  limit.stop();
  done();
  vi.advanceTimersByTime(hour);
  expect(ended).toBe(0);
});
