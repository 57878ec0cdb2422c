import { setTimeout as sleep } from "node:timers/promises";
import { errorText } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import type { UpgradeReason } from "../../core/versions/upgrade-reason.ts";
import type { Leader } from "./cluster/leader.ts";
import { runUpdate } from "./update/run-update.ts";
import type { UpdateEnding, UpdateWorld } from "./update/update-run.ts";

export interface ReconcileOptions {
  readonly leader: Pick<Leader, "elected">;
  /** What a run touches; `signal` is that of the run. */
  readonly open: (signal: AbortSignal) => Promise<UpdateWorld & AsyncDisposable>;
  readonly began: () => void;
  readonly ended: (ending: UpdateEnding | undefined) => void;
  readonly log: Log;
  readonly random?: () => number;
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Interval between runs without an event, ms (the specification's). */
const everyMs = 30 * 60_000;
/** Pause of a run that is to be looked at again soon: pods change without an event of the workload, and something may have been wanted meanwhile, ms. */
const soonMs = 15_000;
const soon: ReadonlySet<UpgradeReason> = new Set(["rolling_out", "upgraded", "rolled_back", "rollback_failed", "kubernetes_failed"]);
/** Changes arrive in groups: one run is for all of them, ms. */
const gatherMs = 300;
/** Maximum duration of a run, ms. */
const runMs = 120_000;

/** Runs whenever this controller leads: at once, at each change, and every half an hour. */
export class Reconciler {
  readonly #options: ReconcileOptions;
  #news = Promise.withResolvers<void>();

  constructor(options: ReconcileOptions) {
    this.#options = options;
  }

  /** Something has changed: a run follows soon, also if one is under way. */
  poke(): void {
    this.#news.resolve();
  }

  /** Until aborted. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { leader, wait = pause } = this.#options;
    while (!signal.aborted) {
      const term = await leader.elected(signal).catch(() => undefined);
      if (term === undefined) return;
      const leading = AbortSignal.any([signal, term]);
      while (!leading.aborted) {
        this.#news = Promise.withResolvers();
        const ending = await this.#once(leading);
        const woken = new AbortController();
        void this.#news.promise.then(() => woken.abort());
        await wait(pauseAfter(ending, this.#options.random ?? Math.random), AbortSignal.any([leading, woken.signal]));
        if (woken.signal.aborted) await wait(gatherMs, leading);
      }
    }
  }

  async #once(leading: AbortSignal): Promise<UpdateEnding | undefined> {
    const { open, began, ended, log } = this.#options;
    const signal = AbortSignal.any([leading, AbortSignal.timeout(runMs)]);
    let ending: UpdateEnding | undefined;
    began();
    try {
      await using world = await open(signal);
      ending = await runUpdate(world);
    } catch (thrown) {
      if (!leading.aborted) log.error("the run failed", { error: errorText(thrown) });
    }
    ended(ending);
    return ending;
  }
}

/** Pause before the next run without news, ms: its jitter keeps releases that started together apart. Pure. */
function pauseAfter(ending: UpdateEnding | undefined, random: () => number): number {
  const isSoon = ending === undefined || soon.has(ending.reason);
  return isSoon ? soonMs * (0.75 + random() / 2) : everyMs * (0.95 + random() / 20);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}
