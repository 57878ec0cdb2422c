import { z } from "zod";
import { parseJson } from "../bytes/parse-json.ts";
import { PlatformError } from "../errors/platform-error.ts";

/** Audit events: one JSON object each. Unknown fields are refused, so that nothing secret rides along unseen. */
const maxShort = 256;
const maxText = 2_000;
const short = z.string().max(maxShort);
const text = z.string().max(maxText);

/** Longest command kept in an event, characters; the source cuts with `clipCommand`. */
export const maxAuditCommand = 16_384;
/** Longest event, bytes of JSON. */
export const maxAuditEvent = 65_536;

const count = z.int().min(0);

/** What an SFTP session does that is told one by one. */
export const sftpActions = ["open", "setstat", "remove", "mkdir", "rmdir", "rename", "symlink", "link"] as const;
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
/** `from` and `to` are versions; `reason` is one of core/versions/upgrade-reason.ts, `error` the host's own sentence. */
const upgrade = { ...server, from: short.optional(), to: short.optional(), reason: short, error: text.optional() };
/** `name` is the channel, `version` without v; `user` when a person did it. */
const rollout = { name: short, version: short, user: short.optional(), reason: text.optional() };
const session = { ...server, user: short, login: short, sid: short };

/** `z.strictObject` for every event, with `event` as the discriminator. */
const auditEventSchema = z.discriminatedUnion("event", [
  z.strictObject({ event: z.literal("user.login"), ...common, ...outcome, user: short }),
  z.strictObject({ event: z.literal("user.locked"), ...common, user: short, locked_until: short }),
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
  /** Certificates that an admin had made for a machine (`name` is the user) or for an OpenSSH host (`name` is its first name). */
  z.strictObject({ event: z.literal("cert.create"), ...common, ...change, kind: z.enum(["user", "host"]), expires: short }),
  /** An authority (`name`) went from one phase of its rotation to the next. */
  z.strictObject({ event: z.literal("authority.rotated"), ...common, ...change, from: short, to: short }),
  z.strictObject({ event: z.literal("join_token.create"), ...common, ...change, roles: z.array(short), expires: short.optional() }),
  z.strictObject({ event: z.literal("join_token.update"), ...common, ...change }),
  z.strictObject({ event: z.literal("join_token.delete"), ...common, ...change }),
  z.strictObject({ event: z.literal("role.created"), ...common, ...change }),
  z.strictObject({ event: z.literal("role.updated"), ...common, ...change }),
  z.strictObject({ event: z.literal("role.deleted"), ...common, ...change }),
  z.strictObject({ event: z.literal("lock.created"), ...common, ...change, target: short, reason: text.optional(), expires: short.optional() }),
  z.strictObject({ event: z.literal("lock.deleted"), ...common, ...change, target: short }),
  z.strictObject({ event: z.literal("node.updated"), ...common, ...change }),
  z.strictObject({ event: z.literal("node.deleted"), ...common, ...change }),
  /** A proxy connected somebody to the sshd of a host without an agent (`addr`), and what went over that connection. `login` may be empty: not known. */
  z.strictObject({ event: z.literal("session.connect"), ...common, ...session, addr: text }),
  z.strictObject({ event: z.literal("session.data"), ...common, ...session, bytes_transmitted: count, bytes_received: count }),
  z.strictObject({ event: z.literal("session.start"), ...common, ...session, interactive: z.boolean() }),
  z.strictObject({
    event: z.literal("session.end"),
    ...common,
    ...session,
    session_start: z.iso.datetime({ offset: true }).optional(),
    exit_code: z.int().optional(),
    reason: text.optional(),
  }),
  z.strictObject({
    event: z.literal("exec"),
    ...common,
    ...session,
    command: z.string().max(maxAuditCommand),
    exit_code: z.int().optional(),
    error: text.optional(),
  }),
  /** A session that a limit of the user's roles refused. */
  z.strictObject({ event: z.literal("session.rejected"), ...common, ...session, reason: text, maximum: z.int() }),
  /** A connection that the host ended: idle, certificate expired, locked. */
  z.strictObject({ event: z.literal("client.disconnect"), ...common, ...session, reason: text }),
  /** A host made a Unix user for a session, and removed it after the last one. */
  z.strictObject({ event: z.literal("host_user.created"), ...common, ...session, mode: short, groups: z.array(short) }),
  z.strictObject({ event: z.literal("host_user.removed"), ...common, ...server, login: short }),
  /** The auth service has all that there will be of a recording. */
  z.strictObject({ event: z.literal("session.upload"), ...common, ...session, bytes: count, interrupted: z.boolean() }),
  /** A terminal session, or the rest of it, is not recorded although it should be. */
  z.strictObject({ event: z.literal("session.recording.failed"), ...common, ...session, reason: text }),
  /** `user` looked at the recording of a session of `name`. */
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
  /** `addr` is where it goes, or where it listens; `count` says for how many such attempts since the last event it stands. */
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
  /** A host's tunnel is gone without a word from its agent; and is back after that. */
  z.strictObject({ event: z.literal("agent.gone"), ...common, ...server, reason: text.optional() }),
  z.strictObject({ event: z.literal("agent.back"), ...common, ...server }),
  /** A host or proxy refused a person: unknown authority, expired certificate, login not listed, denied label. */
  z.strictObject({
    event: z.literal("auth"),
    ...common,
    error: text,
    user: short.optional(),
    login: short.optional(),
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
/** What the source says; `makeAuditEvent` adds code, time, uid and cluster. */
export type AuditFacts = WithoutOrigin<AuditEvent>;

const codes: Readonly<Record<AuditEventName, readonly [good: string, bad: string]>> = {
  "user.login": ["T1000I", "T1000W"],
  "user.create": ["T1002I", "T1002I"],
  "user.update": ["T1003I", "T1003I"],
  "user.delete": ["T1004I", "T1004I"],
  "user.locked": ["T1010W", "T1010W"],
  "session.start": ["T2000I", "T2000I"],
  "session.end": ["T2004I", "T2004I"],
  "session.upload": ["T2005I", "T2005I"],
  "session.data": ["T2006I", "T2006I"],
  "session.connect": ["T2010I", "T2010I"],
  "session.recording.access": ["T2012I", "T2012I"],
  "session.recording.failed": ["T2013W", "T2013W"],
  subsystem: ["T3001I", "T3001E"],
  exec: ["T3002I", "T3002E"],
  "session.rejected": ["T1006W", "T1006W"],
  "client.disconnect": ["T3006I", "T3006I"],
  sftp: ["TS001I", "TS001E"],
  sftp_summary: ["TS021I", "TS021I"],
  port: ["T3003I", "T3003E"],
  auth: ["T3007W", "T3007W"],
  x11: ["T3008I", "T3008E"],
  "host_user.created": ["TH001I", "TH001I"],
  "host_user.removed": ["TH002I", "TH002I"],
  "invite.create": ["T6000I", "T6000I"],
  "invite.accepted": ["T6001I", "T6001I"],
  "invite.refused": ["T6001W", "T6001W"],
  "join_token.create": ["T8000I", "T8000I"],
  "join_token.delete": ["T8001I", "T8001I"],
  "join_token.update": ["T8002I", "T8002I"],
  "role.created": ["T9000I", "T9000I"],
  "role.deleted": ["T9001I", "T9001I"],
  "role.updated": ["T9002I", "T9002I"],
  "instance.join": ["TJ002I", "TJ002W"],
  "instance.renew": ["TJ003I", "TJ003W"],
  "lock.created": ["TLK00I", "TLK00I"],
  "lock.deleted": ["TLK01I", "TLK01I"],
  "node.updated": ["TN001I", "TN001I"],
  "node.deleted": ["TN002I", "TN002I"],
  "maintenance.updated": ["TM001I", "TM001I"],
  "maintenance.deleted": ["TM002I", "TM002I"],
  "upgrade.done": ["TU001I", "TU001I"],
  "upgrade.failed": ["TU002W", "TU002W"],
  "upgrade.rolled_back": ["TU003W", "TU003W"],
  "upgrade.skipped": ["TU004I", "TU004I"],
  "rollout.updated": ["TR001I", "TR001I"],
  "rollout.deleted": ["TR002I", "TR002I"],
  "rollout.started": ["TR003I", "TR003I"],
  "rollout.stopped": ["TR004W", "TR004W"],
  "rollout.done": ["TR005I", "TR005I"],
  "rollout.paused": ["TR006I", "TR006I"],
  "rollout.resumed": ["TR007I", "TR007I"],
  "rollout.promoted": ["TR008I", "TR008I"],
  "agent.gone": ["TG001W", "TG001W"],
  "agent.back": ["TG002I", "TG002I"],
  "cert.create": ["TC000I", "TC000I"],
  "cert.refused": ["TC001W", "TC001W"],
  "authority.rotated": ["TCA01I", "TCA01I"],
  "access.denied": ["TA001W", "TA001W"],
};

const sftpCodes: Readonly<Record<SftpAction, string>> = {
  open: "TS001",
  setstat: "TS007",
  remove: "TS011",
  mkdir: "TS012",
  rmdir: "TS013",
  rename: "TS016",
  symlink: "TS018",
  link: "TS019",
};
/** Every event with every code that it can have; docs/audit.md lists them. */
export function auditCodes(): ReadonlyMap<AuditEventName, readonly string[]> {
  const names = Object.keys(codes) as AuditEventName[];
  const sftp = Object.values(sftpCodes).flatMap((code) => [`${code}I`, `${code}E`]);
  return new Map(names.map((name) => [name, name === "sftp" ? sftp : [...new Set(codes[name])]]));
}

/** Events that are bad when they hold an error. */
const failing = new Set<AuditEventName>(["exec", "subsystem", "sftp"]);

function codeOf(facts: AuditFacts): string {
  const bad = ("success" in facts && !facts.success) || (failing.has(facts.event) && "error" in facts && facts.error !== undefined);
  return facts.event === "sftp" ? `${sftpCodes[facts.action]}${bad ? "E" : "I"}` : codes[facts.event][bad ? 1 : 0];
}

export interface AuditOrigin {
  readonly clusterName: string;
  readonly now: Date;
  /** A fresh UUID: `randomUUID()`. */
  readonly uid: string;
}

/** Too long texts are cut, so that no peer can keep itself out of the log by a long name. */
export function makeAuditEvent(whole: AuditFacts, origin: AuditOrigin): AuditEvent {
  const facts = Object.fromEntries(Object.entries(whole).map(([name, value]) => [name, clipped(name, value)])) as AuditFacts;
  return checkAuditEvent({ ...facts, code: codeOf(facts), time: origin.now.toISOString(), uid: origin.uid, cluster_name: origin.clusterName });
}

/** One line as it came from a peer. Throws PlatformError `invalid`. */
export function parseAuditEvent(json: string): AuditEvent {
  const bytes = Buffer.byteLength(json);
  if (bytes > maxAuditEvent) throw new PlatformError("invalid", `an audit event of ${bytes} bytes; ${maxAuditEvent} are allowed`);
  return checkAuditEvent(parseJson(json, "an audit event"));
}

/** Cuts a command for an event and marks the cut: by its characters, and by the bytes that control characters grow to in JSON. */
export function clipCommand(command: string): string {
  const text = clip(command, maxAuditCommand);
  return Buffer.byteLength(JSON.stringify(text)) <= maxAuditEvent / 2 ? text : clip(command, maxAuditCommand / 4);
}

const longNames = new Set(["error", "reason", "path", "target_path"]);

function clipped(name: string, value: unknown): unknown {
  if (typeof value !== "string") return value;
  if (name === "command") return clipCommand(value);
  return clip(value, longNames.has(name) ? maxText : maxShort);
}

function clip(value: string, length: number): string {
  const mark = "… (cut)";
  return value.length <= length ? value : value.slice(0, length - mark.length) + mark;
}

function checkAuditEvent(value: unknown): AuditEvent {
  const parsed = auditEventSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new PlatformError("invalid", `an audit event is malformed at ${issue?.path.join(".") || "event"}: ${issue?.message ?? ""}`);
}
