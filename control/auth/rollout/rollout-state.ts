import { z } from "zod";
import { rolloutPhases } from "../../../core/resources/upgrade-plan.ts";

const ms = z.int().min(0);
const failureSchema = z.strictObject({
  hostname: z.string(),
  why: z.string(),
  at: ms,
  /** An admin resumed after it: it counts no more, and the host is still named. */
  forgiven: z.boolean(),
});
export type Failure = z.infer<typeof failureSchema>;

/** How far one channel's version has come: durable. Times in ms since 1970. */
export const rolloutStateSchema = z.strictObject({
  channel: z.string(),
  /** Without v. */
  version: z.string(),
  /** Lower than the version before: it undoes. */
  back: z.boolean(),
  started: ms,
  /** Groups whose hosts may all take it, by name: so that a changed document does not take back what was given. */
  passed: z.array(z.string()),
  /** The group that is on; empty: none is. */
  group: z.string(),
  phase: z.enum(rolloutPhases),
  /** Since when group and phase are what they are. */
  since: ms,
  /** When `waiting` ends. */
  until: ms.optional(),
  /** Every host may take it, whatever its group: because it is critical, or goes back. */
  all: z.boolean(),
  /** Ids of the canaries of `group`. */
  canaries: z.array(z.string()),
  /** Hosts that took it lately, and when. */
  took: z.record(z.string(), ms),
  failed: z.record(z.string(), failureSchema),
  paused: z.strictObject({ since: ms, by: z.string() }).optional(),
  stopped: z.strictObject({ since: ms, why: z.string() }).optional(),
});
export type RolloutState = z.infer<typeof rolloutStateSchema>;
