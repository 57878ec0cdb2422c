import { z } from "zod";
import { auditEvents, change, short, text } from "../audit/event-spec.ts";
import { documentKind } from "./document.ts";
import { loginText, metadataSchema, nameText } from "./metadata.ts";
import { userIdText } from "./user.ts";

/** Target of a lock. Exactly one: with two it would be unclear whether either or both are meant. */
const targetSchema = z
  .strictObject({
    user: nameText.optional(),
    /** Users who hold this role. */
    role: nameText.optional(),
    /** A Unix user, on every host. */
    login: loginText.optional(),
    /** A host, by its id. */
    server_id: z.uuid("is the id of a host, as `tctl nodes ls` shows it").optional(),
  })
  .refine((target) => Object.values(target).filter((value) => value !== undefined).length === 1, {
    message: "names exactly one of user, role, login and server_id",
  });

export const lockSchema = z.strictObject({
  kind: z.literal("lock"),
  version: z.literal("v2").default("v2"),
  metadata: metadataSchema.omit({ expires: true }),
  spec: z.strictObject({
    target: targetSchema,
    /** Shown to the locked user. */
    message: z.string().max(500).optional(),
    /** RFC 3339; the lock ends then. */
    expires: z.iso.datetime({ offset: true }).optional(),
    /** Set by the auth service. */
    created_at: z.iso.datetime({ offset: true }).optional(),
    created_by: z.string().max(256).optional(),
  }),
});
export type Lock = z.infer<typeof lockSchema>;
export type LockTarget = Lock["spec"]["target"];

const removalPrefix = "removed-user-";

/** Name of the lock that a user's removal leaves. An older agent applies it to every user of that name. */
export function removalLockName(userId: string): string {
  return `${removalPrefix}${userId}`;
}

/** Id of the removed user that such a lock is for; undefined for all other locks. */
export function removedUserId({ metadata, spec }: Lock): string | undefined {
  const { name } = metadata;
  const id = spec.target.user !== undefined && name.startsWith(removalPrefix) ? name.slice(removalPrefix.length) : "";
  return userIdText.safeParse(id).success ? id : undefined;
}

/** `user alice`, `role contractor`, `login root`, `host 7e55…`. */
export function lockTargetText({ user, role, login, server_id: host }: LockTarget): string {
  if (user !== undefined) return `user ${user}`;
  if (role !== undefined) return `role ${role}`;
  return login === undefined ? `host ${host}` : `login ${login}`;
}

export const lockDocument = documentKind("lock", lockSchema, { what: "a lock" });

export const lockEvents = auditEvents({
  "lock.created": { code: "TLK00I", fields: { ...change, target: short, reason: text.optional(), expires: short.optional() } },
  "lock.deleted": { code: "TLK01I", fields: { ...change, target: short } },
});
