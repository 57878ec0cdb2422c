import { setTimeout as sleep } from "node:timers/promises";
import { toPlatformError } from "../../core/errors/platform-error.ts";

const usualTimes = {
  /** Time in which a restarted auth service is back, and knows from the proxies what hosts offer, ms. */
  patienceMs: 5_000,
  pauseMs: 250,
};

/** Repeats a call that fails with `unavailable` until it succeeds, or the time is over: a restart of the auth service delays a login instead of failing it. */
export async function askAgain<T>(call: () => Promise<T>, signal: AbortSignal, times: Partial<typeof usualTimes> = {}): Promise<T> {
  const { patienceMs, pauseMs } = { ...usualTimes, ...times };
  const end = performance.now() + patienceMs;
  for (;;) {
    try {
      return await call();
    } catch (thrown) {
      if (toPlatformError(thrown).code !== "unavailable" || signal.aborted || performance.now() + pauseMs > end) throw thrown;
    }
    await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {});
  }
}
