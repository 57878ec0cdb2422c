import { matchLabels } from "../../../core/access/match-labels.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import type { Node } from "../../../core/resources/node.ts";
import type { RolloutGroup } from "../../../core/resources/upgrade-rollout.ts";
import type { UpgradeReason } from "../../../core/versions/upgrade-reason.ts";

/** The roll-out's facts about a host. Times in ms since 1970. */
export interface RolloutHost {
  readonly id: string;
  readonly hostname: string;
  readonly labels: Labels;
  /** Version of its agent, without v: the last known one. */
  readonly version: string;
  readonly connected: boolean;
  /** Time since when it is connected or gone. */
  readonly since: number;
  /** Whether an updater manages its version. */
  readonly enrolled: boolean;
  readonly reason?: UpgradeReason | undefined;
  /** Target version of the tick that ended in `reason`, without v. */
  readonly reasonTarget?: string | undefined;
  readonly sessions: number;
  /** Time of the last instruction to install the version while it may act on it (in a window, or critical). */
  readonly offered?: number | undefined;
}

/** Time after a start for hosts to report again before they count as gone, ms. */
const settleMs = 60_000;

/** The channel of a host that has not named one. */
const defaultChannel = "default";

export interface Known {
  /** When this service started to listen for hosts. */
  readonly started: number;
  readonly offered: number | undefined;
  /** The channel of the last request for the host. */
  readonly asked: string | undefined;
}

/** The roll-out's facts about a host of the inventory, and the host's channel. Pure. */
export function toRolloutHost({ metadata, spec, status }: Node, { started, offered, asked }: Known): RolloutHost & { readonly channel: string } {
  const connected = status?.connected ?? false;
  const reported = status?.host;
  return {
    id: metadata.name,
    hostname: spec.hostname,
    labels: metadata.labels ?? {},
    version: withoutV(spec.version),
    connected,
    since: status?.since === undefined ? started + settleMs : Date.parse(status.since),
    // A host without a report since the start may have an updater: a restart must not skip any host.
    enrolled: reported === undefined ? !connected : reported.upgrader !== "none",
    reason: reported?.reason,
    reasonTarget: reported?.target === undefined ? undefined : withoutV(reported.target),
    sessions: reported?.sessions ?? 0,
    offered,
    // Its own report takes precedence over requests in its name: any client can make those.
    channel: reported?.channel ?? asked ?? defaultChannel,
  };
}

export function withoutV(version: string): string {
  return version.replace(/^v/, "");
}

/** The group of a host: the first whose labels match; a host in no group waits for the last one. Undefined: there are no groups. */
export function groupOf(groups: readonly RolloutGroup[], labels: Labels): RolloutGroup | undefined {
  return groups.find((group) => matchLabels(group.labels, labels)) ?? groups.at(-1);
}

/** Such a host needs manual intervention: the roll-out does not wait for it. */
const leftOut: ReadonlySet<UpgradeReason> = new Set<UpgradeReason>([
  "held_by_admin",
  "timer_off",
  "updater_missing",
  "never_ran",
  "updater_silent",
  "not_configured",
  "below_minimum",
  "set_back",
  "suggested",
  "known_bad",
  "rolled_back",
  "rollback_failed",
]);

/** Such a host would install the version if it could: the roll-out waits for it for a limited time. */
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
  "above_proxy",
  "rolling_out",
  "kubernetes_failed",
  "change_refused",
  "internal",
]);

/** Reasons about one version apply to that version only. */
const ofVersion: ReadonlySet<UpgradeReason> = new Set<UpgradeReason>(["known_bad", "rolled_back", "rollback_failed"]);

/** Whether the updater rolled back or refuses exactly this version. */
export function failedAt(host: RolloutHost, version: string): boolean {
  return host.reason !== undefined && ofVersion.has(host.reason) && host.reasonTarget === version && host.version !== version;
}

/** Only manual intervention would install this version on the host. */
export function isLeftOut(host: RolloutHost, version: string): boolean {
  if (!host.enrolled) return true;
  if (host.reason === undefined || host.version === version) return false;
  return leftOut.has(host.reason) && (!ofVersion.has(host.reason) || host.reasonTarget === version);
}

export function isHindered(host: RolloutHost): boolean {
  return host.reason !== undefined && hindered.has(host.reason);
}
