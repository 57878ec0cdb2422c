import type { PlatformError } from "../../core/errors/platform-error.ts";
import { parseSchedule } from "../../core/versions/upgrade-schedule.ts";

/** Time for which the last schedule is kept when no answer comes, ms. */
export const patienceMs = 9 * 60_000;

/** Result of asking the auth service for the windows. */
export type Asked =
  | { readonly kind: "windows"; readonly schedule: string }
  | { readonly kind: "unconfigured" }
  | { readonly kind: "failed"; readonly error: PlatformError };

export interface NextSchedule {
  /** New contents of the file; omitted when it stays as it is. Empty for no window. */
  readonly text?: string;
  /** Why there is no window. */
  readonly error?: string;
}

/**
 * What to do with the schedule file. A cluster without windows, or one that refuses this host, empties it at once; one that cannot
 * be asked, or does not answer with a schedule, after nine minutes: until then it may just be restarting. `lastMs`: the
 * age of the last answer. Pure.
 */
export function nextSchedule(asked: Asked, { nowSeconds, lastMs }: { nowSeconds: number; lastMs: number }): NextSchedule {
  if (asked.kind === "unconfigured")
    return { text: "", error: "the cluster has no maintenance configuration (tctl create a cluster_maintenance_config)" };
  if (asked.kind === "windows") {
    if (parseSchedule(asked.schedule).some(({ stop }) => stop > nowSeconds)) return { text: asked.schedule };
    return lastMs <= patienceMs ? {} : { text: "", error: "all windows of the cluster's answer are in the past: is a clock wrong?" };
  }
  const { code, message } = asked.error;
  if (code === "denied" || code === "unauthenticated" || code === "unsupported")
    return { text: "", error: `the auth service refused the schedule: ${message}` };
  if (lastMs <= patienceMs) return {};
  return { text: "", error: `the auth service has not been reached for ${Math.floor(lastMs / 60_000)} min: ${message}` };
}
