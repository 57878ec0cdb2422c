import type { Log } from "../log/log.ts";
import { collectGarbage } from "./collect-garbage.ts";
import { releaseMemory } from "./release-memory.ts";

/** What V8 collects it frees in part by tasks and threads of its own, some of it later: ms. */
const secondReleaseMs = 2_000;

export interface GiveBackOptions {
  readonly isBusy: () => boolean;
  readonly collect?: () => void;
  readonly release?: (log: Log) => void;
}

/** Gives back what a burst has left. Garbage goes first: it holds native memory. Once more a little later, unless there is work then. */
export function giveBack(log: Log, { isBusy, collect = collectGarbage, release = releaseMemory }: GiveBackOptions): void {
  collect();
  release(log);
  const again = (): void => {
    if (!isBusy()) release(log);
  };
  setTimeout(again, secondReleaseMs).unref();
}
