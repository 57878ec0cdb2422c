import type { Log } from "../log/log.ts";
import { collectGarbage } from "./collect-garbage.ts";
import { releaseMemory } from "./release-memory.ts";

/** Delay, ms: V8 frees some of the collected memory later, in its own tasks and threads. */
const secondReleaseMs = 2_000;

export interface GiveBackOptions {
  readonly isBusy: () => boolean;
  readonly collect?: () => void;
  readonly release?: (log: Log) => void;
}

/** Releases memory after a burst. Garbage goes first, because it holds native memory. Repeats once a little later, unless there is work. */
export function giveBack(log: Log, { isBusy, collect = collectGarbage, release = releaseMemory }: GiveBackOptions): void {
  collect();
  release(log);
  const again = (): void => {
    if (!isBusy()) release(log);
  };
  setTimeout(again, secondReleaseMs).unref();
}
