import { z } from "zod";
import { type UpgradeReason, upgradeReasons } from "../versions/upgrade-reason.ts";
import { documentKind } from "./document.ts";

const reasons = Object.keys(upgradeReasons) as [UpgradeReason, ...UpgradeReason[]];
const time = z.iso.datetime({ offset: true });
const versionText = z.string().max(64);

/** The upgrader of a host: none, the package updater of Linux (`unit`), or the controller of Kubernetes. */
export const upgraders = ["none", "unit", "kube"] as const;

/** A host's report about its updater and its sessions; live only. Times are RFC 3339. */
export const hostStatusSchema = z.object({
  upgrader: z.enum(upgraders).default("none"),
  /** Version of the updater itself. */
  upgrader_version: versionText.optional(),
  /** Result of its last tick, or the agent's observation (`timer_off`, `updater_missing`, `never_ran`, `updater_silent`). Omitted if unknown here. */
  reason: z.enum(reasons).optional().catch(undefined),
  /** One sentence for users. */
  detail: z.string().max(500).optional(),
  /** Result of the last tick, when `reason` is the agent's observation: a manual upgrade counts, although the timer is off. */
  outcome: z
    .object({ reason: z.enum(reasons), detail: z.string().max(500).optional() })
    .optional()
    .catch(undefined),
  /** Target version of the tick. */
  target: versionText.optional(),
  /** The requested channel. */
  channel: z.string().max(128).optional(),
  /** When the tick ended. */
  at: time.optional(),
  /** End of the last maintenance window that the host knows; omitted if it knows none. */
  schedule_until: time.optional(),
  /** Why the schedule could not be fetched or written. */
  schedule_error: z.string().max(500).optional(),
  /** Open user streams in all processes of the host. */
  sessions: z.int().min(0).max(1_000_000).default(0),
});
export type HostStatus = z.infer<typeof hostStatusSchema>;

export const hostStatusDocument = documentKind("host_status", hostStatusSchema, { what: "a host's status" });
