import { z } from "zod";
import { plainEvents } from "./resource-specs.ts";

/** Audit events: one JSON object each. Unknown fields are refused, so that no secret is stored unnoticed. */
export const maxShort = 256;
export const maxText = 2_000;
const short = z.string().max(maxShort);
const text = z.string().max(maxText);

/** Longest command kept in an event, characters; the source truncates with `clipCommand`. */
export const maxAuditCommand = 16_384;
/** Longest event, bytes of JSON. */
export const maxAuditEvent = 65_536;

const count = z.int().min(0);

/** Actions of an SFTP session that are reported one by one. */
export const sftpActions = ["open", "setstat", "remove", "mkdir", "rmdir", "rename", "symlink", "link"] as const;
/** Actions of the far side of scp. */
export const scpActions = ["download", "upload"] as const;
export type ScpAction = (typeof scpActions)[number];
export type SftpAction = (typeof sftpActions)[number];

const common = {
  code: short,
  /** When it happened, RFC 3339 with milliseconds. */
  time: z.iso.datetime({ offset: true }),
  /** One event has one uid, however often it is sent. */
  uid: z.uuid(),
  cluster_name: short,
  "addr.remote": short.optional(),
};
const outcome = { success: z.boolean(), error: text.optional() };
const server = { server_id: short, server_name: short };
/** `user` is who did it; for resources the acting user or host, and `name` is what was changed. */
const change = { user: short, name: short };
/** `from` and `to` are versions; `reason` is one of core/versions/upgrade-reason.ts, `error` the host's own message. */
const upgrade = { ...server, from: short.optional(), to: short.optional(), reason: short, error: text.optional() };
/** `name` is the channel, `version` without v; `user` if a user did it. */
const rollout = { name: short, version: short, user: short.optional(), reason: text.optional() };
const session = { ...server, user: short, login: short, sid: short };

/** `z.strictObject` for every event, with `event` as the discriminator. */
export const auditEventSchema = z.discriminatedUnion("event", [
  z.strictObject({ event: z.literal("user.login"), ...common, ...outcome, user: short }),
  z.strictObject({ event: z.literal("user.locked"), ...common, user: short, locked_until: short }),
  z.strictObject({ event: z.literal("user.unlocked"), ...common, ...change }),
  z.strictObject({ event: z.literal("user.create"), ...common, ...change, roles: z.array(short) }),
  z.strictObject({ event: z.literal("user.update"), ...common, ...change, roles: z.array(short) }),
  z.strictObject({ event: z.literal("user.delete"), ...common, ...change }),
  z.strictObject({ event: z.literal("invite.create"), ...common, ...change, expires: short }),
  z.strictObject({ event: z.literal("invite.accepted"), ...common, user: short }),
  z.strictObject({ event: z.literal("invite.refused"), ...common, user: short.optional(), error: text }),
  z.strictObject({
    event: z.literal("instance.join"),
    ...common,
    ...outcome,
    role: short,
    server_id: short.optional(),
    server_name: short,
    /** Public id of the token, never its secret. */
    token: short.optional(),
  }),
  z.strictObject({ event: z.literal("instance.renew"), ...common, ...outcome, server_id: short, server_name: short, role: short }),
  /** Certificates that an admin requested for a machine (`name` is the user) or for an OpenSSH host (`name` is its first name). */
  z.strictObject({ event: z.literal("cert.create"), ...common, ...change, kind: z.enum(["user", "host"]), expires: short }),
  /** An authority (`name`) went from one phase of its rotation to the next. */
  z.strictObject({ event: z.literal("authority.rotated"), ...common, ...change, from: short, to: short }),
  z.strictObject({ event: z.literal("join_token.create"), ...common, ...change, roles: z.array(short), expires: short.optional() }),
  z.strictObject({ event: z.literal("join_token.update"), ...common, ...change }),
  z.strictObject({ event: z.literal("join_token.delete"), ...common, ...change }),
  /** A resource of a kind without behaviour of its own. */
  z.strictObject({ event: z.enum(plainEvents.map(([name]) => name)), ...common, ...change }),
  z.strictObject({ event: z.literal("role.created"), ...common, ...change }),
  z.strictObject({ event: z.literal("role.updated"), ...common, ...change }),
  z.strictObject({ event: z.literal("role.deleted"), ...common, ...change }),
  z.strictObject({ event: z.literal("lock.created"), ...common, ...change, target: short, reason: text.optional(), expires: short.optional() }),
  z.strictObject({ event: z.literal("lock.deleted"), ...common, ...change, target: short }),
  z.strictObject({ event: z.literal("node.updated"), ...common, ...change }),
  z.strictObject({ event: z.literal("node.deleted"), ...common, ...change }),
  /** A proxy connected a user to the sshd of a host without an agent (`addr`), and the traffic of that connection. `login` is empty if unknown. */
  z.strictObject({ event: z.literal("session.connect"), ...common, ...session, addr: text }),
  /** Traffic of a session, or of a connection to a host without an agent: transmitted to the client, received from it. */
  z.strictObject({ event: z.literal("session.data"), ...common, ...session, bytes_transmitted: count, bytes_received: count }),
  z.strictObject({ event: z.literal("session.start"), ...common, ...session, interactive: z.boolean() }),
  /** A user's connection to an application. */
  z.strictObject({ event: z.literal("app.session.start"), ...common, ...server, user: short, sid: short, app_name: short }),
  /** `reason`: why it ended, if a rule or a lock ended it. */
  z.strictObject({
    event: z.literal("app.session.end"),
    ...common,
    ...server,
    user: short,
    sid: short,
    app_name: short,
    session_start: z.iso.datetime({ offset: true }),
    bytes_transmitted: count,
    bytes_received: count,
    reason: text.optional(),
  }),
  z.strictObject({
    event: z.literal("session.end"),
    ...common,
    ...session,
    session_start: z.iso.datetime({ offset: true }).optional(),
    exit_code: z.int().optional(),
    reason: text.optional(),
    /** If other users joined: all participants, the owner first. */
    participants: z.array(short).max(64).optional(),
  }),
  /** A terminal's new size, `columns:rows`. */
  z.strictObject({ event: z.literal("resize"), ...common, ...session, size: short }),
  /** The far side of scp (`scp -O`), as seen from the host: `upload` writes there. */
  z.strictObject({
    event: z.literal("scp"),
    ...common,
    ...session,
    action: z.enum(scpActions),
    path: text,
    exit_code: z.int().optional(),
    error: text.optional(),
  }),
  /** `user` joined the running session of `owner`, and left it. */
  z.strictObject({ event: z.literal("session.join"), ...common, ...session, owner: short, mode: short }),
  z.strictObject({ event: z.literal("session.leave"), ...common, ...session, owner: short, mode: short, reason: text.optional() }),
  z.strictObject({
    event: z.literal("exec"),
    ...common,
    ...session,
    command: z.string().max(maxAuditCommand),
    exit_code: z.int().optional(),
    error: text.optional(),
  }),
  /** A session that a limit of the user's roles refused. */
  z.strictObject({
    event: z.literal("session.rejected"),
    ...common,
    ...server,
    user: short,
    login: short.optional(),
    app_name: short.optional(),
    sid: short,
    reason: text,
    maximum: z.int(),
  }),
  /** A connection that the host ended: idle, certificate expired, locked. */
  z.strictObject({ event: z.literal("client.disconnect"), ...common, ...session, reason: text }),
  /** A host created a Unix user for a session, and removed it after the last one. */
  z.strictObject({ event: z.literal("host_user.created"), ...common, ...session, mode: short, groups: z.array(short) }),
  z.strictObject({ event: z.literal("host_user.removed"), ...common, ...server, login: short }),
  /** The auth service has a recording in full. */
  z.strictObject({ event: z.literal("session.upload"), ...common, ...session, bytes: count, interrupted: z.boolean() }),
  /** A terminal session, or the rest of it, is not recorded although it should be. */
  z.strictObject({ event: z.literal("session.recording.failed"), ...common, ...session, reason: text }),
  /** `user` viewed the recording of a session of `name`. */
  z.strictObject({ event: z.literal("session.recording.access"), ...common, ...change, sid: short }),
  z.strictObject({ event: z.literal("subsystem"), ...common, ...session, name: short, error: text.optional() }),
  /** One change or opened file of an SFTP session; the first ones of each kind only, the summary counts all. */
  z.strictObject({
    event: z.literal("sftp"),
    ...common,
    ...session,
    action: z.enum(sftpActions),
    path: text,
    target_path: text.optional(),
    /** How a file was opened: `read,write,create`. */
    flags: short.optional(),
    error: text.optional(),
  }),
  z.strictObject({
    event: z.literal("sftp_summary"),
    ...common,
    ...session,
    actions: count,
    failed: count,
    /** Actions that have no event of their own. */
    left_out: count,
    files_read: count,
    files_written: count,
    bytes_read: count,
    bytes_written: count,
  }),
  /** `addr` is the destination, or the listening address; `count` is the number of such attempts since the last event. */
  z.strictObject({
    event: z.literal("port"),
    ...common,
    ...session,
    ...outcome,
    addr: short,
    direction: z.enum(["local", "remote"]),
    count: z.int().positive().optional(),
  }),
  z.strictObject({ event: z.literal("x11"), ...common, ...session, ...outcome }),
  z.strictObject({ event: z.literal("maintenance.updated"), ...common, ...change }),
  z.strictObject({ event: z.literal("maintenance.deleted"), ...common, ...change }),
  z.strictObject({ event: z.literal("upgrade.done"), ...common, ...upgrade }),
  z.strictObject({ event: z.literal("upgrade.failed"), ...common, ...upgrade }),
  z.strictObject({ event: z.literal("upgrade.rolled_back"), ...common, ...upgrade }),
  z.strictObject({ event: z.literal("upgrade.skipped"), ...common, ...upgrade }),
  z.strictObject({ event: z.literal("rollout.updated"), ...common, ...change }),
  z.strictObject({ event: z.literal("rollout.deleted"), ...common, ...change }),
  z.strictObject({ event: z.literal("rollout.started"), ...common, ...rollout }),
  z.strictObject({ event: z.literal("rollout.stopped"), ...common, ...rollout }),
  z.strictObject({ event: z.literal("rollout.done"), ...common, ...rollout }),
  z.strictObject({ event: z.literal("rollout.paused"), ...common, ...rollout }),
  z.strictObject({ event: z.literal("rollout.resumed"), ...common, ...rollout }),
  z.strictObject({ event: z.literal("rollout.promoted"), ...common, ...rollout }),
  /** A host's tunnel was lost without notice from its agent; and came back after that. */
  z.strictObject({ event: z.literal("agent.gone"), ...common, ...server, reason: text.optional() }),
  z.strictObject({ event: z.literal("agent.back"), ...common, ...server }),
  /** A host or proxy refused a user: unknown authority, expired certificate, login not listed, denied label. */
  z.strictObject({
    event: z.literal("auth"),
    ...common,
    error: text,
    user: short.optional(),
    login: short.optional(),
    app_name: short.optional(),
    server_id: short.optional(),
    server_name: short.optional(),
    sid: short.optional(),
  }),
  /** A client certificate that was presented to the auth service and refused. */
  z.strictObject({ event: z.literal("cert.refused"), ...common, error: text, user: short.optional() }),
  /** A call to the auth service's API that the caller's roles do not allow. */
  z.strictObject({ event: z.literal("access.denied"), ...common, error: text, user: short, method: short }),
]);
export type AuditEvent = z.infer<typeof auditEventSchema>;
export type AuditEventName = AuditEvent["event"];
type WithoutOrigin<T> = T extends unknown ? Omit<T, "code" | "time" | "uid" | "cluster_name"> : never;
/** Fields from the source; `makeAuditEvent` adds code, time, uid and cluster. */
export type AuditFacts = WithoutOrigin<AuditEvent>;
