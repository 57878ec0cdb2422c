import { z } from "zod";
import { PlatformError } from "../errors/platform-error.ts";
import { type DocumentKind, documentKind, readDocument } from "../resources/document.ts";
import { type AuditEvent, type AuditFacts, auditEventSchema, codeOf, newerFields } from "./audit-events.ts";
import { maxAuditCommand, maxShort, maxText } from "./event-spec.ts";

/** Longest event, bytes of JSON. */
export const maxAuditEvent = 65_536;

export interface AuditOrigin {
  readonly clusterName: string;
  readonly now: Date;
  /** A new one: `newEventUid`. */
  readonly uid: string;
}

/** Too long texts are truncated, so that no peer can avoid the log by a long name. */
export function makeAuditEvent(facts: AuditFacts, origin: AuditOrigin): AuditEvent {
  const event: Record<string, unknown> = {
    ...facts,
    code: codeOf(facts),
    time: origin.now.toISOString(),
    uid: origin.uid,
    cluster_name: origin.clusterName,
  };
  clipFields(event, facts);
  return checkAuditEvent(event);
}

/** Truncates texts in `event`: those of the fields that `facts` have. */
export function clipFields(event: Record<string, unknown>, facts: object): void {
  // What is short is never cut.
  for (const name of Object.keys(facts)) {
    const value = event[name];
    if (typeof value === "string" && value.length > maxShort) event[name] = clipped(name, value);
  }
}

/** One line of the audit log. */
export const auditEventDocument = documentKind("audit_event", auditEventSchema, { what: "an audit event", maxBytes: maxAuditEvent });
const unreadEvent: DocumentKind<unknown> = { ...auditEventDocument, schema: z.unknown() };

export interface ReportedEvent {
  readonly event: AuditEvent;
  /** Paths of the fields that were left out. */
  readonly dropped: readonly string[];
}

/**
 * An event as a host reports it, which may be newer: without the fields that are unknown here, so that no secret is stored unnoticed. What
 * `auditEventDocument` accepts is read as by `readDocument`. Throws `invalid`, also for an event of an unknown name.
 */
export function readReportedEvent(json: string): ReportedEvent {
  const value = readDocument(unreadEvent, json);
  const parsed = auditEventSchema.safeParse(value);
  if (parsed.success) return { event: parsed.data, dropped: [] };
  const dropped = parsed.error.issues.flatMap((issue) => (issue.code === "unrecognized_keys" ? dropKeys(value, issue) : []));
  return { event: readDocument(auditEventDocument, JSON.stringify(value)), dropped };
}

function dropKeys(value: unknown, { path, keys }: { readonly path: readonly PropertyKey[]; readonly keys: readonly string[] }): readonly string[] {
  const holder = path.reduce((one: unknown, key) => (isObject(one) ? Reflect.get(one, key) : undefined), value);
  if (!isObject(holder)) return [];
  for (const key of keys) Reflect.deleteProperty(holder, key);
  const names = path.map((part) => (typeof part === "number" ? "[]" : String(part)));
  return keys.map((key) => [...names, key].join("."));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** An event of this version for an auth service of the version before; undefined: it has no newer fields. Pure. */
export function withoutNewerFields(json: string): string | undefined {
  const event = auditEventSchema.safeParse(jsonOf(json)).data;
  if (event === undefined) return undefined;
  const newer = newerFields(event.event);
  const older = Object.entries(event).filter(([name]) => !newer.includes(name));
  return older.length === Object.keys(event).length ? undefined : JSON.stringify(Object.fromEntries(older));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Truncates a command for an event and marks it: by its characters, and by the bytes to which control characters expand in JSON. */
export function clipCommand(command: string): string {
  const text = clip(command, maxAuditCommand);
  return Buffer.byteLength(JSON.stringify(text)) <= maxAuditEvent / 2 ? text : clip(command, maxAuditCommand / 4);
}

const longNames = new Set(["error", "reason", "path", "target_path", "db_uri", "payload"]);
/** Texts of which the beginning says most; `clipCommand` bounds them. */
const commandNames = new Set(["command", "db_query"]);

function clipped(name: string, value: string): string {
  if (commandNames.has(name)) return clipCommand(value);
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
