import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silentLog } from "../log/log.ts";
import { giveBack } from "./give-back.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function given(isBusy: () => boolean): string[] {
  const done: string[] = [];
  giveBack(silentLog, { isBusy, collect: () => void done.push("collect"), release: () => void done.push("release") });
  return done;
}

test("garbage goes first, and memory that it frees later is released too", () => {
  const done = given(() => false);
  expect(done).toEqual(["collect", "release"]);
  vi.advanceTimersByTime(60_000);
  expect(done).toEqual(["collect", "release", "release"]);
});

test("work that has arrived in between is not delayed", () => {
  const done = given(() => true);
  vi.advanceTimersByTime(60_000);
  expect(done).toEqual(["collect", "release"]);
});
