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
  major_mismatch: "waits for its updater",
  rolling_out: "replaces its pods",
};

/** Where the words of the code are not enough. */
const words: Readonly<Partial<Record<Reason, string>>> = {
  no_schedule: "has no window",
  stale_schedule: "has only past windows",
  known_bad: "skips a bad version",
  below_minimum: "below its minimum",
  above_proxy: "newer than its proxy",
  no_space: "disk is full",
  internal: "updater failed",
};

/** Pure. */
export function instanceState({ connected, version, wanted, status }: Instance): InstanceState {
  const reason = status?.reason;
  if (!connected) return { tone: "bad", text: "offline", rank: 5 };
  if (reason !== undefined && broken.has(reason)) return { tone: "bad", text: wordsOf(reason), rank: 4 };
  if (wanted === undefined || wanted === version) {
    if (status?.upgrader === "none") return { tone: "idle", text: "no updater", rank: 1 };
    return { tone: "good", text: "up to date", rank: 0 };
  }
  if (reason === undefined) return { tone: "warn", text: status?.upgrader === "none" ? "behind, no updater" : "has another version", rank: 3 };
  const waiting = waits[reason];
  return waiting === undefined ? { tone: "warn", text: wordsOf(reason), rank: 3 } : { tone: "wait", text: waiting, rank: 2 };
}

function wordsOf(reason: Reason): string {
  return words[reason] ?? reason.replaceAll("_", " ");
}
