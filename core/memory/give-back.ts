import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { errorText } from "../errors/platform-error.ts";
import type { Log } from "../log/log.ts";
import { type MemoryAddon, memoryAddon } from "./memory-addon.ts";

/** Delay, ms: V8 frees some of the collected memory later, in its own tasks and threads. */
const secondReleaseMs = 2_000;

export interface GiveBackOptions {
  readonly isBusy: () => boolean;
  readonly collect?: () => void;
  readonly release?: (log: Log) => void;
  /** In place of both while it is busy. */
  readonly trim?: (log: Log) => void;
}

/**
 * Releases memory after a burst. Garbage goes first, because it holds native memory. Repeats once a little later, unless there is work. While it is busy only what native
 * code has freed is released, which takes a few ms: streams are open, and they may have nothing to do for days.
 */
export function giveBack(log: Log, { isBusy, collect = collectGarbage, release = releaseMemory, trim = trimMemory }: GiveBackOptions): void {
  if (isBusy()) {
    trim(log);
    return;
  }
  collect();
  release(log);
  const again = (): void => {
    if (!isBusy()) release(log);
  };
  setTimeout(again, secondReleaseMs).unref();
}

/** Maximum heap to collect, bytes: the process pauses 2 to 3 ms for each MiB, so a larger heap is left to V8. */
const usualHeap = 256 * 1024 * 1024;

/**
 * Collects all garbage and releases the empty pages. V8 does so at an unpredictable time: after a burst of a thousand
 * connections half of its pages were garbage, sometimes for 30 s and sometimes for the whole measurement.
 * Does nothing when the heap has more than `largestHeap` bytes.
 * `regular` is one pass, which leaves more behind, but is shorter.
 * The gc function exists in contexts created while the flag is set; this context is collected next time.
 */
export function collectGarbage(largestHeap = usualHeap, flavor: "regular" | "last-resort" = "last-resort"): void {
  if (getHeapStatistics().total_heap_size > largestHeap) return;
  setFlagsFromString("--expose-gc");
  try {
    runInNewContext(`gc({ type: 'major', execution: 'sync', flavor: '${flavor}' })`);
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}

/**
 * Releases memory that an idle process does not need: memory freed by native code, and the executable's pages that start-up
 * touched. Does nothing where the addon cannot be loaded. Garbage is separate: in an agent, collecting it first gained nothing.
 */
export function releaseMemory(log: Log, load: () => MemoryAddon | undefined = memoryAddon): void {
  withAddon(log, load, (addon) => addon.release());
}

function withAddon(log: Log, load: () => MemoryAddon | undefined, act: (addon: MemoryAddon) => void): void {
  try {
    const addon = load();
    if (addon !== undefined) act(addon);
  } catch (thrown) {
    log.debug("could not release memory", { error: errorText(thrown) });
  }
}

/** Memory that native code has freed, alone. */
function trimMemory(log: Log): void {
  withAddon(log, memoryAddon, (addon) => addon.trim());
}

interface WhenQuietOptions {
  readonly act: () => void;
  readonly quietMs?: number;
  /** Begins to measure how much of the event loop is used; the result returns the part of the time since, 0 to 1. */
  readonly measureUse?: () => () => number;
}

/** Delay, ms: V8 collects garbage some 8 s after the last work, and the pages that it touches for that should be released too. */
const usualQuietMs = 12_000;

/** Maximum use of the event loop: with more, short requests that no task counts would wait for the act, a quarter of a second in a proxy with 1,000 tunnels. */
const usualUse = 0.1;

/**
 * Returns the function to call at the beginning and at the end of each task: when no other follows for a while, `act` is called once, or later when the
 * process still has much to do. Ends with the signal.
 */
export function whenQuiet({ act, quietMs = usualQuietMs, measureUse = eventLoopUse }: WhenQuietOptions, signal: AbortSignal): () => void {
  let timer: NodeJS.Timeout | undefined;
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return wait;

  function wait(): void {
    clearTimeout(timer);
    if (signal.aborted) return;
    const use = measureUse();
    timer = setTimeout(() => {
      if (use() > usualUse) wait();
      else act();
    }, quietMs).unref();
  }
}

function eventLoopUse(): () => number {
  const begin = performance.eventLoopUtilization();
  return () => performance.eventLoopUtilization(begin).utilization;
}
