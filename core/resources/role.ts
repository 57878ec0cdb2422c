import { z } from "zod";
import { auditEvents, change } from "../audit/event-spec.ts";
import type { LabelsCondition, NamesCondition } from "../kinds/service-kinds.ts";
import { documentKind } from "./document.ts";
import { kubeRuleSchema, kubeSubjectText } from "./kube-rule.ts";
import { durationText, metadataSchema } from "./metadata.ts";
import { joinModes, sessionKinds } from "./session.ts";

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
  /** `k8s`, as the reference writes it, is `kube`. */
  kinds: z.array(z.enum([...sessionKinds, "k8s", "*"], "is ssh, k8s or '*': sessions of no other kind can be joined")).min(1),
  modes: z.array(z.enum([...joinModes, "*"], "is observer, peer or '*': there are no moderated sessions")).min(1),
});
export type JoinPolicy = z.infer<typeof joinSchema>;

/** Names as they are, `*` for any, or a template such as `{{internal.logins}}`. */
const namesSchema = z.array(z.string().min(1).max(1024)).optional();
/** Conditions of each kind of service. */
const labelConditions = {
  node_labels: labelMatchersSchema.optional(),
  app_labels: labelMatchersSchema.optional(),
  db_labels: labelMatchersSchema.optional(),
  kubernetes_labels: labelMatchersSchema.optional(),
} satisfies Readonly<Record<LabelsCondition, z.ZodType>>;
const nameConditions = { logins: namesSchema, db_users: namesSchema, db_names: namesSchema } satisfies Readonly<Record<NamesCondition, z.ZodType>>;

/** Groups that mark the users that agents created, by mode. No role can grant them. */
export const markerGroups = { drop: "platform-system", keep: "platform-keep" } as const;

/** A Unix group name that every groupadd(8) accepts. */
export const hostGroupText = z
  .string()
  .regex(/^[a-z_][a-z0-9_-]{0,31}$/, "a group has 1 to 32 of the characters a-z 0-9 _ - and starts with a letter or _")
  .refine((name) => !Object.values<string>(markerGroups).includes(name), "marks the users that agents created and cannot be granted");

/** The rest of a sudoers(5) line after the user's name, such as `ALL=(root) NOPASSWD: /usr/bin/systemctl`; visudo(8) checks it on the host. */
const sudoersText = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^[^\p{Cc}#]*[^\p{Cc}#\\]$/u, "is one line without # that does not end in a backslash");

/** A role at a database server: any text that PostgreSQL and MySQL take as a name, without control characters. */
export const dbRoleText = z
  .string()
  .min(1)
  .max(63)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  .regex(/^[^\u0000-\u001f\u007f-\u009f*]+$/, "a role at a database has 1 to 63 characters, without control characters or *");

/** Users or groups at Kubernetes clusters, or templates; `*` is for a deny alone, and is all. */
const kubeSubjects = z
  .array(z.union([kubeSubjectText, z.string().max(1024).includes("{{")]))
  .max(256)
  .optional();

const conditionsSchema = z.strictObject({
  ...nameConditions,
  ...labelConditions,
  /** Identities that the role lends at the clusters of `kubernetes_labels`, for the objects of `kubernetes_resources`: see docs/kubernetes.md. */
  kubernetes_users: kubeSubjects,
  kubernetes_groups: kubeSubjects,
  /** Omitted: none. */
  kubernetes_resources: z.array(kubeRuleSchema).max(256).optional(),
  /** Roles that accounts made by agents get at the server: see docs/databases.md. `*` in a deny is all. */
  db_roles: z
    .array(z.union([z.literal("*"), z.string().max(1024).includes("{{"), dbRoleText]))
    .max(64)
    .optional(),
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

/** Whether a host creates a missing Unix user at login, and whether it stays: `drop` removes it after its last session. */
export const hostUserModes = ["off", "drop", "keep"] as const;
export type HostUserMode = (typeof hostUserModes)[number];

/** Whether an agent makes the account of a user at a database, and what becomes of it after the last session. */
export const dbUserModes = ["off", "keep", "best_effort_drop"] as const;
export type DbUserMode = (typeof dbUserModes)[number];

const limitSchema = z.int().min(1, "must be at least 1; omit it for no limit");

const recordModes = z.enum(["strict", "best_effort"], "is strict or best_effort");
/** Whether a session ends when it can no longer be recorded; `ssh` comes before `default`. */
const recordSessionSchema = z.strictObject({ default: recordModes.optional(), ssh: recordModes.optional() });

/** The options of a role that are enforced; core/access/session-rules.ts combines those of several roles. */
export const roleOptionsSchema = z.strictObject({
  max_session_ttl: durationText.optional(),
  forward_agent: z.boolean().optional(),
  port_forwarding: z.boolean().optional(),
  ssh_file_copy: z.boolean().optional(),
  permit_x11_forwarding: z.boolean().optional(),
  client_idle_timeout: z.union([z.literal("never"), durationText]).optional(),
  disconnect_expired_cert: z.boolean().optional(),
  max_sessions: limitSchema.optional(),
  max_connections: limitSchema.max(10_000, "must be at most 10000; omit it for no limit").optional(),
  pin_source_ip: z.boolean().optional(),
  /** A one-time code for each session; core/access/session-mfa.ts decides where. */
  require_session_mfa: z.boolean().optional(),
  lock: z.enum(["strict", "best_effort"]).optional(),
  record_session: recordSessionSchema.optional(),
  create_host_user_mode: z.enum(hostUserModes, "is off, drop or keep").optional(),
  create_db_user_mode: z.enum(dbUserModes, "is off, keep or best_effort_drop").optional(),
  /** Older form: true is `keep`, false is `off`. `create_db_user_mode` comes before it. */
  create_db_user: z.boolean().optional(),
  /** Replication connections to PostgreSQL, which can copy all databases of a server. */
  db_replication: z.boolean().optional(),
});
export type RoleOptions = z.infer<typeof roleOptionsSchema>;

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
