import { z } from "zod";
import { auditEvents, change } from "../audit/event-spec.ts";
import type { LabelsCondition, NamesCondition } from "../kinds/service-kinds.ts";
import { documentKind } from "./document.ts";
import { hostGroupText, sudoersText } from "./host-user.ts";
import { metadataSchema } from "./metadata.ts";
import { roleOptionsSchema } from "./role-options.ts";
import { joinModes } from "./session.ts";

/** One value or several: several are alternatives. `*`, globs (`web-*`) and `^regular expressions$` are matched by core/access. */
const matcherSchema = z.union([z.string().max(1024), z.array(z.string().max(1024)).max(256)]);
export const labelMatchersSchema = z.record(z.string().min(1).max(128), matcherSchema);
export type LabelMatchers = Readonly<Record<string, string | readonly string[]>>;

export const verbs = ["list", "create", "read", "update", "delete", "*"] as const;
export type Verb = (typeof verbs)[number];

/** Roles of a newer version, or stored before resources were checked, may name others: writing a role checks them. */
const ruleSchema = z.strictObject({
  resources: z.array(z.string().min(1).max(64)).min(1),
  verbs: z.array(z.enum(verbs)).min(1),
});
export type Rule = z.infer<typeof ruleSchema>;

/** Other users' sessions that may be joined: those whose user holds one of these roles (names or globs). */
const joinSchema = z.strictObject({
  name: z.string().min(1).max(128),
  roles: z.array(z.string().min(1).max(128)).min(1).max(256),
  kinds: z.array(z.enum(["ssh", "*"], "is ssh or '*': sessions of no other kind can be joined")).min(1),
  modes: z.array(z.enum([...joinModes, "*"], "is observer, peer or '*': there are no moderated sessions")).min(1),
});
export type JoinPolicy = z.infer<typeof joinSchema>;

/** Names as they are, `*` for any, or a template such as `{{internal.logins}}`. */
const namesSchema = z.array(z.string().min(1).max(1024)).optional();
/** Conditions of each kind of service. */
const labelConditions = { node_labels: labelMatchersSchema.optional(), app_labels: labelMatchersSchema.optional() } satisfies Readonly<
  Record<LabelsCondition, z.ZodType>
>;
const nameConditions = { logins: namesSchema } satisfies Readonly<Record<NamesCondition, z.ZodType>>;

const conditionsSchema = z.strictObject({
  ...nameConditions,
  ...labelConditions,
  rules: z.array(ruleSchema).optional(),
  /** For Unix users that hosts create at login: see docs/host-users.md. `*` in a deny is all. */
  host_groups: z
    .array(z.union([z.literal("*"), z.string().max(128).includes("{{"), hostGroupText]))
    .max(64)
    .optional(),
  host_sudoers: z.array(sudoersText).max(64).optional(),
  join_sessions: z.array(joinSchema).max(64).optional(),
  /** Refused with the reason: a role that relies on it must not seem to work. */
  require_session_join: z.undefined("is not enforced: there are no moderated sessions; remove it").optional(),
});
export type RoleConditions = z.infer<typeof conditionsSchema>;

/** An unknown field is refused: a condition that is not enforced must not seem to work. */
export const roleSchema = z.strictObject({
  kind: z.literal("role"),
  version: z.literal("v7"),
  metadata: metadataSchema,
  spec: z.strictObject({
    options: roleOptionsSchema.optional(),
    allow: conditionsSchema.optional(),
    deny: conditionsSchema.optional(),
  }),
});
export type Role = z.infer<typeof roleSchema>;

export const roleDocument = documentKind("role", roleSchema, { what: "a role" });

export const roleEvents = auditEvents({
  "role.created": { code: "T9000I", fields: change },
  "role.updated": { code: "T9002I", fields: change },
  "role.deleted": { code: "T9001I", fields: change },
});
