import { setTimeout as sleep } from "node:timers/promises";
import { errorText } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { UpgradeError } from "../upgrade-error.ts";

export interface BusyOptions {
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Maximum time that another program may hold the package manager. */
  readonly waitMs?: number;
  readonly pauseMs?: number;
}

/**
 * Retries while another program holds the package manager (apt's timers take it for minutes), for a minute; then it throws that
 * error. The action must not have changed anything when it throws `package_manager_busy`.
 */
export async function waitWhileBusy<T>(attempt: () => Promise<T>, { log, signal, waitMs = 60_000, pauseMs = 2000 }: BusyOptions): Promise<T> {
  const end = performance.now() + waitMs;
  for (let tries = 0; ; tries++) {
    try {
      return await attempt();
    } catch (thrown) {
      if (!(thrown instanceof UpgradeError) || thrown.reason !== "package_manager_busy" || performance.now() + pauseMs >= end) throw thrown;
      if (tries === 0) log.info("another program holds the package manager: waiting", { error: errorText(thrown) });
    }
    await sleep(pauseMs, undefined, { signal });
  }
}
