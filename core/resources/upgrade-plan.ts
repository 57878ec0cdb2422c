import { z } from "zod";
import { type UpgradeReason, upgradeReasons } from "../versions/upgrade-reason.ts";

const reasons = Object.keys(upgradeReasons) as [UpgradeReason, ...UpgradeReason[]];
const failedSchema = z.object({ host_id: z.string(), hostname: z.string(), why: z.string(), at: z.string() });

const groupStateSchema = z.object({
  name: z.string(),
  /** Hosts of the channel in this group. */
  hosts: z.int(),
  /** Connected hosts that have the version. */
  done: z.int(),
  /** Hosts that may take it now and have not yet. */
  released: z.int(),
  /** Hosts that cannot or will not take it: not enrolled, held by their admin, gone … */
  left_out: z.int(),
  canaries: z.array(z.string()),
});

/** Of a group: its canaries go, all go, the wait before it runs; or all groups are done. */
export const rolloutPhases = ["canaries", "group", "waiting", "done"] as const;

/** How far one channel's version has come. Times are RFC 3339. */
const channelStateSchema = z.object({
  channel: z.string(),
  version: z.string(),
  critical: z.boolean(),
  /** The version is lower than the one before: it undoes, and goes to all at once. */
  back: z.boolean(),
  started: z.string().optional(),
  phase: z.enum(rolloutPhases).optional(),
  /** Since when the phase lasts; when `waiting` ends. */
  since: z.string().optional(),
  until: z.string().optional(),
  group: z.string().optional(),
  paused: z.object({ since: z.string(), by: z.string() }).optional(),
  stopped: z.object({ since: z.string(), why: z.string() }).optional(),
  frozen: z.object({ until: z.string(), reason: z.string().optional() }).optional(),
  groups: z.array(groupStateSchema),
  failed: z.array(failedSchema),
});

const hostPlanSchema = z.object({
  host_id: z.string(),
  hostname: z.string(),
  /** Left out without an upgrade_rollout. */
  group: z.string().optional(),
  channel: z.string(),
  current: z.string(),
  target: z.string(),
  /** `done`: it has the version; `goes`: it will take it; `stays`: it will not, see `why`. */
  verdict: z.enum(["done", "goes", "stays"]),
  canary: z.boolean(),
  /** Not before; left out when nobody can say. */
  when: z.string().optional(),
  /** One sentence: why not, or what it waits for. */
  why: z.string(),
  reason: z.enum(reasons).optional(),
  sessions: z.int(),
  connected: z.boolean(),
});

/** What `tctl upgrades plan` and `status` show. `hosts` is left out of a brief one. */
export const upgradePlanSchema = z.object({
  at: z.string(),
  /** Whether there is an upgrade_rollout. */
  staged: z.boolean(),
  /** When the next maintenance window begins and ends; left out: there is none. */
  window: z.object({ start: z.string(), stop: z.string() }).optional(),
  channels: z.array(channelStateSchema),
  /** What is wrong with channels, a sentence each; left out: nothing. */
  warnings: z.array(z.string()).optional(),
  hosts: z.array(hostPlanSchema).optional(),
});
export type UpgradePlan = z.infer<typeof upgradePlanSchema>;
export type HostPlan = z.infer<typeof hostPlanSchema>;
export type ChannelPlan = z.infer<typeof channelStateSchema>;
export type GroupPlan = z.infer<typeof groupStateSchema>;
