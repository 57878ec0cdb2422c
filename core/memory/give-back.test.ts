import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog, silentLog } from "../log/log.ts";
import { collectGarbage, giveBack, releaseMemory, whenQuiet } from "./give-back.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function given(isBusy: () => boolean): string[] {
  const done: string[] = [];
  const does = (name: string) => () => void done.push(name);
  giveBack(silentLog, { isBusy, collect: does("collect"), release: does("release"), trim: does("trim") });
  return done;
}

test("garbage goes first, and memory that it frees later is released too", () => {
  const done = given(() => false);
  expect(done).toEqual(["collect", "release"]);
  vi.advanceTimersByTime(60_000);
  expect(done).toEqual(["collect", "release", "release"]);
});

test("work that has arrived in between is not delayed", () => {
  let isBusy = false;
  const done = given(() => isBusy);
  isBusy = true;
  vi.advanceTimersByTime(60_000);
  expect(done).toEqual(["collect", "release"]);
});

test("while it is busy only what native code has freed is released", () => {
  const done = given(() => true);
  vi.advanceTimersByTime(60_000);
  expect(done).toEqual(["trim"]);
});

test("garbage is freed at once", async () => {
  const garbage = new WeakRef({ bytes: new Uint8Array(1024) });
  // An object that was created or used in this turn is kept until its end.
  await setImmediate();
  // This process holds everything that earlier tests have loaded.
  collectGarbage(Number.POSITIVE_INFINITY);
  expect(garbage.deref()).toBeUndefined();
});

test("no context can request it afterwards", () => {
  collectGarbage(Number.POSITIVE_INFINITY);
  expect(runInNewContext("typeof gc")).toBe("undefined");
});

function logged() {
  const lines: string[] = [];
  return { lines, log: createLog({ level: "debug", format: "text", write: (line) => void lines.push(line) }) };
}

test("the addon is called", () => {
  const { lines, log } = logged();
  const release = vi.fn<() => void>();
  releaseMemory(log, () => ({ release, trim: () => {} }));
  expect(release).toHaveBeenCalledOnce();
  expect(lines).toEqual([]);
});

test("without the addon it does nothing", () => {
  const { lines, log } = logged();
  releaseMemory(log);
  expect(lines).toEqual([]);
});

test("an addon that cannot be loaded is a debug line", () => {
  const { lines, log } = logged();
  releaseMemory(log, () => {
    throw new Error("no folder for it");
  });
  expect(lines.join("")).toContain("no folder for it");
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function counted(signal = new AbortController().signal) {
  const state = { acts: 0, use: 0 };
  const act = (): void => {
    state.acts += 1;
  };
  return { state, touch: whenQuiet({ act, quietMs: 1000, measureUse: () => () => state.use }, signal) };
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

test("what many short requests would wait for comes when they are over, without another call", () => {
  const { state, touch } = counted();
  state.use = 0.2;
  touch();
  vi.advanceTimersByTime(10_000);
  expect(state.acts).toBe(0);
  state.use = 0.02;
  vi.advanceTimersByTime(1000);
  expect(state.acts).toBe(1);
  vi.advanceTimersByTime(60_000);
  expect(state.acts).toBe(1);
});

test("the use of the event loop is that since the last task", async () => {
  vi.useRealTimers();
  const end = new AbortController();
  const acts: string[] = [];
  const touch = whenQuiet({ act: () => void acts.push("act"), quietMs: 100 }, end.signal);
  touch();
  for (const busyUntil = performance.now() + 100; performance.now() < busyUntil; );
  await sleep(1);
  expect(acts).toEqual([]);
  await vi.waitUntil(() => acts.length > 0, { timeout: 10_000 });
  end.abort();
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
