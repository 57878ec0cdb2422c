import type { PlatformError } from "../../core/errors/platform-error.ts";
import { parseSchedule } from "../../core/versions/upgrade-schedule.ts";

/** For this long the last schedule stays when none can be had, ms. */
export const patienceMs = 9 * 60_000;

/** What came of asking the auth service for the windows. */
export type Asked =
  | { readonly kind: "windows"; readonly schedule: string }
  | { readonly kind: "unconfigured" }
  | { readonly kind: "failed"; readonly error: PlatformError };

export interface NextSchedule {
  /** What the file should hold; left out: what it holds. Empty: no window. */
  readonly text?: string;
  /** Why it holds none. */
  readonly error?: string;
}

/**
 * What to do with the schedule file. A cluster without windows, or one that refuses this host, empties it at once; one that cannot
 * be asked, or answers with what is no schedule, after nine minutes: until then it may just be starting anew. `lastMs`: how long
 * the last answer is ago. Pure.
 */
export function nextSchedule(asked: Asked, { nowSeconds, lastMs }: { nowSeconds: number; lastMs: number }): NextSchedule {
  if (asked.kind === "unconfigured")
    return { text: "", error: "the cluster has no maintenance configuration (tctl create a cluster_maintenance_config)" };
  if (asked.kind === "windows") {
    if (parseSchedule(asked.schedule).some(({ stop }) => stop > nowSeconds)) return { text: asked.schedule };
    return lastMs <= patienceMs ? {} : { text: "", error: "the cluster answers with windows that are all past: is a clock wrong?" };
  }
  const { code, message } = asked.error;
  if (code === "denied" || code === "unauthenticated" || code === "unsupported")
    return { text: "", error: `the auth service refuses the schedule: ${message}` };
  if (lastMs <= patienceMs) return {};
  return { text: "", error: `the auth service has not been reached for ${Math.floor(lastMs / 60_000)} min: ${message}` };
}
