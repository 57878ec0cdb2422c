import { z } from "zod";
import { parseJsonAs } from "../bytes/parse-json.ts";
import { type UpgradeReason, upgradeReasons } from "../versions/upgrade-reason.ts";

const reasons = Object.keys(upgradeReasons) as [UpgradeReason, ...UpgradeReason[]];
const time = z.iso.datetime({ offset: true });
const versionText = z.string().max(64);

/** What brings a host to its version: nothing, the package updater of Linux (`unit`), the controller of Kubernetes. */
export const upgraders = ["none", "unit", "kube"] as const;

/** What a host says of its updater and its sessions; live only. Times are RFC 3339. */
export const hostStatusSchema = z.object({
  upgrader: z.enum(upgraders).default("none"),
  /** Version of the updater itself. */
  upgrader_version: versionText.optional(),
  /** Where its last tick ended, or what the agent sees of it (`timer_off`, `updater_missing`, `never_ran`, `updater_silent`). One that this version does not know is left out. */
  reason: z.enum(reasons).optional().catch(undefined),
  /** One sentence for people. */
  detail: z.string().max(500).optional(),
  /** Where the last tick ended, when `reason` is what the agent sees instead: an upgrade by hand counts, although the timer is off. */
  outcome: z
    .object({ reason: z.enum(reasons), detail: z.string().max(500).optional() })
    .optional()
    .catch(undefined),
  /** The version that the tick aimed at. */
  target: versionText.optional(),
  /** The channel that it asked. */
  channel: z.string().max(128).optional(),
  /** When the tick ended. */
  at: time.optional(),
  /** When the last maintenance window that the host knows of ends; left out: it knows none. */
  schedule_until: time.optional(),
  /** Why the schedule could not be had or written. */
  schedule_error: z.string().max(500).optional(),
  /** Streams of people that are open now, in every process of the host. */
  sessions: z.int().min(0).max(1_000_000).default(0),
});
export type HostStatus = z.infer<typeof hostStatusSchema>;

/** Throws PlatformError `invalid`. */
export function parseHostStatus(json: string): HostStatus {
  return parseJsonAs(hostStatusSchema, json, "a host's status");
}
