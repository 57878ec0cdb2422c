import { z } from "zod";
import { documentKind } from "./document.ts";

/** `standby`: no rotation is under way. */
export const rotationPhases = ["standby", "init", "update_clients", "update_servers", "rollback"] as const;
export type RotationPhase = (typeof rotationPhases)[number];

const time = z.iso.datetime({ offset: true });

/** Progress of the rotation of one authority. */
export const rotationStateSchema = z.strictObject({
  phase: z.enum(rotationPhases),
  /** The actor of the next step: an admin, or the auth service on a schedule. */
  mode: z.enum(["manual", "automatic"]),
  /** Of the rotation under way. */
  started: time.optional(),
  /** How long an automatic rotation takes, and when its next step is due. */
  grace_seconds: z.int().positive().optional(),
  next: time.optional(),
  /** When the last rotation was completed. */
  last_rotated: time.optional(),
});
export type RotationState = z.infer<typeof rotationStateSchema>;

const hostBehindSchema = z.strictObject({ role: z.enum(["proxy", "node"]), id: z.string(), name: z.string() });
/** A host without a certificate from the signing key. */
export type HostBehind = z.infer<typeof hostBehindSchema>;

/** The same for display, with the keys: the first one signs. An authority that is for X.509 only has no SSH fingerprint. */
export const rotationSchema = rotationStateSchema.extend({
  /** A kind of core/kinds, or of a later version. */
  authority: z.string(),
  allowed: z.array(z.enum(rotationPhases)),
  keys: z.array(z.strictObject({ ca_pin: z.string(), ssh_fingerprint: z.string().optional(), since: time })).min(1),
  /** For the host authority during a rotation: hosts that would lose access at its end. */
  behind: z.array(hostBehindSchema).optional(),
});
export type Rotation = z.infer<typeof rotationSchema>;

export const rotationDocument = documentKind("rotation", rotationSchema, { what: "the rotation of an authority" });
