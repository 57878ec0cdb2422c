import type { Labels } from "../../../core/resources/metadata.ts";
import type { UpgradeReason } from "../../../core/versions/upgrade-reason.ts";

/** What the roll-out knows of a host. Times in ms since 1970. */
export interface RolloutHost {
  readonly id: string;
  readonly hostname: string;
  readonly labels: Labels;
  /** Of its agent, without v: the last one that was seen. */
  readonly version: string;
  readonly connected: boolean;
  /** Since when it is connected or gone. */
  readonly since: number;
  /** An updater brings it to its version. */
  readonly enrolled: boolean;
  readonly reason?: UpgradeReason | undefined;
  /** What the tick that ended in `reason` aimed at, without v. */
  readonly reasonTarget?: string | undefined;
  readonly sessions: number;
  /** When it was last told to take the version at a moment when it may act on it (in a window, or critical). */
  readonly offered?: number | undefined;
}

/** Such a host stays as it is until somebody does something on it: nothing waits for it. */
const leftOut: ReadonlySet<UpgradeReason> = new Set<UpgradeReason>([
  "held_by_admin",
  "timer_off",
  "updater_missing",
  "never_ran",
  "updater_silent",
  "not_configured",
  "below_minimum",
  "known_bad",
  "rolled_back",
  "rollback_failed",
]);

/** Such a host would take it if it could: waited for, but not for ever. */
const hindered: ReadonlySet<UpgradeReason> = new Set<UpgradeReason>([
  "no_schedule",
  "stale_schedule",
  "waiting_for_sessions",
  "major_mismatch",
  "not_signed",
  "endpoint_unreachable",
  "certificate_wrong",
  "version_nonsense",
  "package_missing",
  "repository_unreachable",
  "signature_wrong",
  "no_space",
  "no_way_back",
  "package_manager_busy",
  "package_manager_failed",
  "restart_needed",
  "internal",
]);

/** Reasons that speak of one version count for that version only. */
const ofVersion: ReadonlySet<UpgradeReason> = new Set<UpgradeReason>(["known_bad", "rolled_back", "rollback_failed"]);

/** Whether the updater undid or refuses exactly this version. */
export function failedAt(host: RolloutHost, version: string): boolean {
  return host.reason !== undefined && ofVersion.has(host.reason) && host.reasonTarget === version && host.version !== version;
}

/** Nothing but somebody's hand on the host would bring this version there. */
export function isLeftOut(host: RolloutHost, version: string): boolean {
  if (!host.enrolled) return true;
  if (host.reason === undefined || host.version === version) return false;
  return leftOut.has(host.reason) && (!ofVersion.has(host.reason) || host.reasonTarget === version);
}

export function isHindered(host: RolloutHost): boolean {
  return host.reason !== undefined && hindered.has(host.reason);
}
