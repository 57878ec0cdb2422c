import { z } from "zod";
import { auditEvents, change } from "../audit/event-spec.ts";
import { parseDuration } from "./duration.ts";
import { durationText, metadataSchema } from "./metadata.ts";
import { labelMatchersSchema } from "./role.ts";

const date = /^\d{4}-\d{2}-\d{2}$/;
const momentText = z.string().refine((text) => !Number.isNaN(startOf(text)), {
  message: "is neither a date (2026-12-24) nor a time (2026-12-24T18:00:00Z)",
});
/** "0s" is allowed: no wait at all. */
const waitText = z.string().refine((text) => durationOf(text) !== undefined, { message: 'is not a duration; write it like "30m", "12h" or "1d"' });

const groupSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "a group's name has 1 to 64 of the characters A-Z a-z 0-9 . _ -"),
  /** As in roles: every key must match, any value of a list suffices. */
  labels: labelMatchersSchema.refine((labels) => Object.keys(labels).length > 0, {
    message: "empty labels match no host; write {'*': '*'} for all hosts",
  }),
  /** Number of hosts of the group that upgrade first. */
  canaries: z.int().min(0).max(1000).default(0),
  /** Wait after the previous group is done. */
  wait: waitText.default("0s"),
});
export type RolloutGroup = z.infer<typeof groupSchema>;

const freezeSchema = z
  .strictObject({
    /** RFC 3339, or a date: then its first moment, UTC. */
    from: momentText,
    /** RFC 3339, or a date: then its last moment, UTC. */
    to: momentText,
    reason: z.string().max(200).optional(),
  })
  .refine(({ from, to }) => startOf(from) < endOf(to), { message: "ends before it begins", path: ["to"] });
export type Freeze = z.infer<typeof freezeSchema>;

/** Which hosts get a channel's version first. The only document is `default`; without it every host gets the version in its window. */
export const upgradeRolloutSchema = z.strictObject({
  kind: z.literal("upgrade_rollout"),
  version: z.literal("v1"),
  metadata: metadataSchema.extend({ name: z.literal("default", { error: 'there is one upgrade_rollout: its name is "default"' }) }),
  spec: z.strictObject({
    groups: z
      .array(groupSchema)
      .min(1)
      .max(64)
      .refine((groups) => new Set(groups.map(({ name }) => name)).size === groups.length, { message: "two groups have the same name" }),
    freezes: z.array(freezeSchema).max(256).default([]),
    /** The roll-out of a version stops once this many upgraded hosts rolled back or vanished. */
    stop_after: z.strictObject({ failed: z.int().min(1).max(100_000).default(1) }).default({ failed: 1 }),
    /** Time that an upgraded host may be disconnected before it counts as vanished. */
    vanished_after: durationText.default("10m"),
  }),
});
export type UpgradeRollout = z.infer<typeof upgradeRolloutSchema>;

/** The freeze in force now. */
export function freezeAt(freezes: readonly Freeze[], now: number): (Freeze & { readonly until: number }) | undefined {
  const holding = freezes.map((freeze) => ({ ...freeze, until: endOf(freeze.to) })).filter(({ from, until }) => startOf(from) <= now && now < until);
  return holding.sort((a, b) => b.until - a.until)[0];
}

/** The freezes that are not over, by their beginning, ms. */
export function freezesAfter(
  freezes: readonly Freeze[],
  now: number,
): readonly { readonly from: number; readonly until: number; readonly reason: string | undefined }[] {
  return freezes
    .map(({ from, to, reason }) => ({ from: startOf(from), until: endOf(to), reason }))
    .filter(({ until }) => now < until)
    .sort((a, b) => a.from - b.from);
}

function startOf(text: string): number {
  // A time without an offset would mean another moment on every machine.
  const whole = date.test(text) || z.iso.datetime({ offset: true }).safeParse(text).success;
  return whole ? Date.parse(text) : Number.NaN;
}

function endOf(text: string): number {
  return startOf(text) + (date.test(text) ? 24 * 3_600_000 : 0);
}

function durationOf(text: string): number | undefined {
  try {
    return parseDuration(text);
  } catch {
    return undefined;
  }
}

export const upgradeRolloutEvents = auditEvents({
  "rollout.updated": { code: "TR001I", fields: change },
  "rollout.deleted": { code: "TR002I", fields: change },
});
