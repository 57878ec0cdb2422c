import { z } from "zod";
import { type UpgradeReason, upgradeReasons } from "../versions/upgrade-reason.ts";
import { documentKind } from "./document.ts";

const reasons = Object.keys(upgradeReasons) as [UpgradeReason, ...UpgradeReason[]];
const failedSchema = z.object({ host_id: z.string(), hostname: z.string(), why: z.string(), at: z.string() });

const groupStateSchema = z.object({
  name: z.string(),
  /** Number of hosts of the channel in this group. */
  hosts: z.int(),
  /** Number of connected hosts that have the version. */
  done: z.int(),
  /** Number of hosts that may take it now but have not yet. */
  released: z.int(),
  /** Number of hosts that cannot or will not take it: not enrolled, held by their admin, disconnected … */
  left_out: z.int(),
  canaries: z.array(z.string()),
});

/** Phase of a group: its canaries upgrade, all upgrade, the wait before it runs; or all groups are done. */
export const rolloutPhases = ["canaries", "group", "waiting", "done"] as const;

/** Progress of one channel's version. Times are RFC 3339. */
const channelStateSchema = z.object({
  channel: z.string(),
  version: z.string(),
  critical: z.boolean(),
  /** The version is lower than the previous one: a rollback, which goes to all hosts at once. */
  back: z.boolean(),
  started: z.string().optional(),
  phase: z.enum(rolloutPhases).optional(),
  /** When the phase began; when `waiting` ends. */
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
  /** Omitted without an upgrade_rollout. */
  group: z.string().optional(),
  channel: z.string(),
  current: z.string(),
  target: z.string(),
  /** `done`: it has the version; `goes`: it will take it; `stays`: it will not, see `why`. */
  verdict: z.enum(["done", "goes", "stays"]),
  canary: z.boolean(),
  /** Earliest time; omitted if unknown. */
  when: z.string().optional(),
  /** One sentence: why not, or what it is waiting for. */
  why: z.string(),
  reason: z.enum(reasons).optional(),
  sessions: z.int(),
  connected: z.boolean(),
});

/** Contents of `tctl upgrades plan` and `status`. A brief one omits `hosts`. */
export const upgradePlanSchema = z.object({
  at: z.string(),
  /** Whether there is an upgrade_rollout. */
  staged: z.boolean(),
  /** When the next maintenance window begins and ends; omitted if there is none. */
  window: z.object({ start: z.string(), stop: z.string() }).optional(),
  /** The windows after now, that one first; omitted from a brief plan. */
  windows: z.array(z.object({ start: z.string(), stop: z.string(), frozen: z.string().optional() })).optional(),
  /** The freezes that are not over, by their beginning; omitted if there are none. */
  freezes: z.array(z.object({ from: z.string(), until: z.string(), reason: z.string().optional() })).optional(),
  channels: z.array(channelStateSchema),
  /** Problems with channels, a sentence each; omitted if there are none. */
  warnings: z.array(z.string()).optional(),
  hosts: z.array(hostPlanSchema).optional(),
});
export type UpgradePlan = z.infer<typeof upgradePlanSchema>;
export type HostPlan = z.infer<typeof hostPlanSchema>;
export type ChannelPlan = z.infer<typeof channelStateSchema>;
export type GroupPlan = z.infer<typeof groupStateSchema>;

/** It names every host, and is as long as an answer may be. */
export const upgradePlanDocument = documentKind("upgrade_plan", upgradePlanSchema, { what: "the auth service's plan", maxBytes: 16 * 1_048_576 });
