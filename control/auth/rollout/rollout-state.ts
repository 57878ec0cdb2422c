import { z } from "zod";
import { rolloutPhases } from "../../../core/resources/upgrade-plan.ts";

const ms = z.int().min(0);
const failureSchema = z.strictObject({
  hostname: z.string(),
  why: z.string(),
  at: ms,
  /** An admin resumed after it: it no longer counts, but the host is still listed. */
  forgiven: z.boolean(),
});
export type Failure = z.infer<typeof failureSchema>;

/** Progress of one channel's version: durable. Times in ms since 1970. */
export const rolloutStateSchema = z.strictObject({
  channel: z.string(),
  /** Without v. */
  version: z.string(),
  /** Lower than the previous version: a roll-back. */
  back: z.boolean(),
  started: ms,
  /** Groups whose hosts may all install it, by name: so that a changed document does not revoke a release. */
  passed: z.array(z.string()),
  /** The active group; empty: none. */
  group: z.string(),
  phase: z.enum(rolloutPhases),
  /** Time of the last change of group or phase. */
  since: ms,
  /** End of `waiting`. */
  until: ms.optional(),
  /** Every host may install it, regardless of its group: because it is critical, or a roll-back. */
  all: z.boolean(),
  /** Ids of the canaries of `group`. */
  canaries: z.array(z.string()),
  /** Hosts that installed it recently, and when. */
  took: z.record(z.string(), ms),
  failed: z.record(z.string(), failureSchema),
  paused: z.strictObject({ since: ms, by: z.string() }).optional(),
  stopped: z.strictObject({ since: ms, why: z.string() }).optional(),
});
export type RolloutState = z.infer<typeof rolloutStateSchema>;
