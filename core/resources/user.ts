import { z } from "zod";
import { auditEvents, change, short } from "../audit/event-spec.ts";
import { loginText, metadataSchema, nameText } from "./metadata.ts";

/** Traits fill role templates: `{{internal.logins}}` is `traits.logins`. */
export const traitsSchema = z.record(z.string().min(1).max(64), z.array(z.string().max(256)).max(256));
export type Traits = Readonly<Record<string, readonly string[]>>;

/** Longest validity of the certificates of a login, regardless of roles, seconds. */
export const longestLoginSeconds = 30 * 3_600;

/** Distinguishes a user from earlier and later ones of the same name; stored in certificates. */
export const userIdText = z.string().regex(/^[0-9a-f]{32}$/, "is 32 hexadecimal digits");

export const userSchema = z.strictObject({
  kind: z.literal("user"),
  version: z.literal("v2"),
  metadata: metadataSchema,
  spec: z.strictObject({
    roles: z.array(nameText).min(1).max(64),
    traits: z
      .strictObject({ logins: z.array(loginText).max(256).optional() })
      .catchall(z.array(z.string().max(256)).max(256))
      .optional(),
  }),
  /** Read only: state from the auth service. */
  status: z
    .strictObject({
      state: z.enum(["invited", "active", "locked"]),
      locked_until: z.string().optional(),
    })
    .optional(),
});
export type User = z.infer<typeof userSchema>;

export const userEvents = auditEvents({
  "user.create": { code: "T1002I", fields: { ...change, roles: z.array(short) } },
  "user.update": { code: "T1003I", fields: { ...change, roles: z.array(short) } },
  "user.delete": { code: "T1004I", fields: change },
});
