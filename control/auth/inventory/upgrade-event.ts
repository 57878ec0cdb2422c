import { z } from "zod";
import type { HostStatus } from "../../../core/resources/host-status.ts";
import type { UpgradeReason } from "../../../core/versions/upgrade-reason.ts";

/** Audited state of a host's upgrades. */
export const upgradeMemorySchema = z.object({
  /** The last version at which the host was settled. */
  version: z.string(),
  /** The last audited problem, as long as it is not known to be solved. */
  trouble: z.string().optional(),
});
export type UpgradeMemory = z.infer<typeof upgradeMemorySchema>;

export interface UpgradeEvent {
  readonly event: "upgrade.done" | "upgrade.failed" | "upgrade.rolled_back" | "upgrade.skipped";
  readonly reason: UpgradeReason;
  readonly from?: string;
  readonly to?: string;
  readonly error?: string;
}

export interface HostReport {
  /** Version of the agent. */
  readonly version: string;
  readonly status: HostStatus;
}

/** An upgrade without effect. */
const failures: ReadonlySet<UpgradeReason> = new Set<UpgradeReason>([
  "rollback_failed",
  "package_missing",
  "repository_unreachable",
  "signature_wrong",
  "no_space",
  "no_way_back",
  "below_minimum",
  "not_signed",
  "package_manager_failed",
  "restart_needed",
  "certificate_wrong",
  "version_nonsense",
  "major_mismatch",
  "not_configured",
  "above_proxy",
  "set_back",
  "kubernetes_failed",
  "change_refused",
  "internal",
]);

/** A version that the host does not install without intervention. */
const skips: ReadonlySet<UpgradeReason> = new Set<UpgradeReason>(["known_bad", "held_by_admin"]);
/** Results of a run after which the running version is the wanted one. */
const settled: ReadonlySet<UpgradeReason> = new Set<UpgradeReason>(["up_to_date", "upgraded", "healed"]);

/**
 * The event to audit for a host's report, and the new memory. Each upgrade, roll-back and problem is recorded once, however often
 * it is reported, across restarts. Without a memory this is the host's first report: earlier events are unknown.
 * Pure.
 */
export function upgradeEvent(memory: UpgradeMemory | undefined, { version, status }: HostReport): { event?: UpgradeEvent; memory: UpgradeMemory } {
  const { reason, detail } = status.outcome ?? status;
  const target = status.target?.replace(/^v/, "");
  const known: UpgradeMemory = memory ?? { version };
  if (status.upgrader === "none") return { memory: { version } };
  if (reason === undefined) return { memory: known };
  if (reason === "rolled_back") {
    const trouble = `${reason} ${target} ${status.at}`;
    if (known.trouble === trouble) return { memory: known };
    const event = { event: "upgrade.rolled_back", reason, ...(target !== undefined && { from: target }), to: version, ...errorOf(detail) } as const;
    return { event, memory: { version, trouble } };
  }
  if (settled.has(reason) && target === version) {
    if (known.version === version) return { memory: { version } };
    return { event: { event: "upgrade.done", reason, from: known.version, to: version }, memory: { version } };
  }
  const event = failures.has(reason) ? "upgrade.failed" : skips.has(reason) ? "upgrade.skipped" : undefined;
  if (event === undefined) return { memory: known };
  const trouble = `${reason} ${target}`;
  // After a roll-back the version that was rolled back is skipped: that follows from it, and is not a new event.
  if (known.trouble === trouble || (reason === "known_bad" && known.trouble?.startsWith(`rolled_back ${target} `) === true)) return { memory: known };
  const facts: UpgradeEvent = { event, reason, from: version, ...(target !== undefined && { to: target }), ...errorOf(detail) };
  return { event: facts, memory: { ...known, trouble } };
}

function errorOf(detail: string | undefined): { error?: string } {
  return detail === undefined ? {} : { error: detail };
}
