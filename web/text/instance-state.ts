import type { InventoryPage } from "../../core/api/web/fleet.ts";

type Instance = InventoryPage["instances"][number];
type Reason = NonNullable<NonNullable<Instance["status"]>["reason"]>;

/** The most important thing about an instance, in a few words. */
export interface InstanceState {
  readonly tone: "good" | "bad" | "warn" | "idle" | "wait";
  readonly text: string;
  /** The worst has the highest. */
  readonly rank: number;
}

const broken: ReadonlySet<Reason> = new Set<Reason>([
  "rolled_back",
  "rollback_failed",
  "signature_wrong",
  "certificate_wrong",
  "package_manager_failed",
  "restart_needed",
  "internal",
]);

/** What passes by itself. */
const waits: Readonly<Partial<Record<Reason, string>>> = {
  up_to_date: "waits for its updater",
  upgraded: "waits for its updater",
  healed: "waits for its updater",
  already_running: "updates now",
  outside_window: "waits for its window",
  held_by_rollout: "waits for the roll-out",
  waiting_for_sessions: "waits for sessions to end",
  rolling_out: "replaces its pods",
};

/** The updater does not run: the host keeps its version, also where that is the wanted one now. */
const standing: ReadonlySet<Reason> = new Set<Reason>(["timer_off", "updater_silent", "updater_missing", "not_configured"]);

/** Where the words of the code are not enough. */
const words: Readonly<Partial<Record<Reason, string>>> = {
  no_schedule: "has no window",
  stale_schedule: "has only past windows",
  known_bad: "skips a bad version",
  major_mismatch: "needs a newer updater",
  below_minimum: "below its minimum",
  above_proxy: "newer than its proxy",
  no_space: "disk is full",
  internal: "updater failed",
};

/** An instance that has another version than the wanted one, and does not report why. */
const silent: Readonly<Partial<Record<Instance["upgrader"], string>>> = { none: "behind, no updater", unknown: "behind, updater unknown" };

/** Pure. */
export function instanceState(instance: Instance): InstanceState {
  const { connected, version, wanted, upgrader, status } = instance;
  const reason = status?.reason;
  if (!connected) return { tone: "bad", text: "offline", rank: 5 };
  if (reason !== undefined && broken.has(reason)) return { tone: "bad", text: wordsOf(reason), rank: 4 };
  if (reason !== undefined && standing.has(reason)) return { tone: "warn", text: wordsOf(reason), rank: 3 };
  if (wanted === undefined || wanted === version) return calmState(instance);
  if (reason === undefined) return { tone: "warn", text: silent[upgrader] ?? "has another version", rank: 3 };
  const waiting = waits[reason];
  return waiting === undefined ? { tone: "warn", text: wordsOf(reason), rank: 3 } : { tone: "wait", text: waiting, rank: 2 };
}

/** Of an instance that does not have another version than the wanted one. */
function calmState({ services, wanted, upgrader }: Instance): InstanceState {
  // The auth service and proxies report no updater, and no channel is theirs.
  if (services.some((name) => name === "auth" || name === "proxy")) return { tone: "good", text: "connected", rank: 0 };
  if (upgrader === "none") return { tone: "idle", text: "no updater", rank: 1 };
  if (upgrader === "unknown") return { tone: "idle", text: "updater unknown", rank: 1 };
  if (wanted === undefined) return { tone: "idle", text: "no version wanted", rank: 1 };
  return { tone: "good", text: "up to date", rank: 0 };
}

function wordsOf(reason: Reason): string {
  return words[reason] ?? reason.replaceAll("_", " ");
}
