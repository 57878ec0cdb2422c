import { setImmediate as breathe } from "node:timers/promises";
import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { readDocuments } from "../../../core/resources/document.ts";
import { type ActiveSession, activeSessionSchema, maxSessions, sessionDocument } from "../../../core/resources/session.ts";
import type { Entry, Storage } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";

/** A process of an agent renews three times in this time. Seconds. */
export const sessionSeconds = 60;

const prefix = "/session/";
/** Maximum processes of one host: a reload has two, and a dead one counts until its report expires. */
const maxProcesses = 4;
const maxOfHost = 2_000;
const maxOfHostBytes = 2_000_000;
/** Number of records read at once; other work runs in between. */
const stride = 100;
const bigRecord = 100_000;
const processSchema = z.uuid("process must be a UUID");
const storedSchema = z.array(activeSessionSchema);

export interface SessionReport {
  /** Id of the reporting host. */
  readonly host: string;
  /** UUID of its process. */
  readonly process: string;
  readonly sessionsJson: readonly string[];
}

/**
 * Takes the sessions of one process of a host: stored, since a reload of this service runs two processes. A process beyond the maximum
 * replaces the one with the oldest report. Throws `invalid`, and `limit` when the host has too many sessions.
 */
export async function reportSessions(context: Pick<AuthContext, "storage" | "now" | "queues">, report: SessionReport): Promise<number> {
  const process = processSchema.safeParse(report.process);
  if (!process.success) throw new PlatformError("invalid", "process must be a UUID");
  if (report.sessionsJson.length > maxSessions) throw new PlatformError("invalid", `at most ${maxSessions} sessions per process are allowed`);
  // A host reports only itself, and a process too.
  const own = readDocuments(sessionDocument, report.sessionsJson).map((session) => ({ ...session, server_id: report.host, process: report.process }));
  const key = `${prefix}${report.host}/${report.process}`;
  if (own.length === 0) await context.storage.delete(key);
  else await context.queues(`sessions ${report.host}`, () => keep(context, { key, host: report.host, own }));
  return sessionSeconds;
}

interface OwnSessions {
  readonly key: string;
  readonly host: string;
  readonly own: readonly ActiveSession[];
}

async function keep({ storage, now }: Pick<AuthContext, "storage" | "now">, { key, host, own }: OwnSessions): Promise<void> {
  const value = JSON.stringify(own);
  const others = (await storage.list(`${prefix}${host}/`)).filter((entry) => entry.key !== key).sort(oldestFirst);
  const replaced = others.slice(0, Math.max(0, others.length + 1 - maxProcesses));
  const kept = others.slice(replaced.length);
  const count = kept.reduce((sum, entry) => sum + countOf(entry.value), own.length);
  const bytes = kept.reduce((sum, entry) => sum + entry.value.length, value.length);
  if (count > maxOfHost || bytes > maxOfHostBytes) {
    throw new PlatformError("limit", `a host may report ${maxOfHost} sessions in ${maxOfHostBytes} bytes; this one has ${count} in ${bytes}`);
  }
  const expires = new Date(now().getTime() + sessionSeconds * 1000);
  await storage.batch([...replaced.map((entry) => ({ key: entry.key })), { key, value, expires }]);
}

/** Without parsing all of it: each session has its process, and all quotes in the host's other texts are escaped. */
function countOf(value: string): number {
  return value.split('"process":"').length - 1;
}

function oldestFirst(a: Entry, b: Entry): number {
  return (a.expires?.getTime() ?? 0) - (b.expires?.getTime() ?? 0);
}

/** The sessions of connected hosts, newest first. */
export async function listActiveSessions(context: Pick<AuthContext, "storage" | "live">): Promise<readonly ActiveSession[]> {
  return connected(await readSessions(context.storage, () => true), context);
}

function connected(sessions: readonly ActiveSession[], { live }: Pick<AuthContext, "live">): readonly ActiveSession[] {
  // After a start of this service the connected hosts are not known yet: the stored reports count then.
  const here = sessions.filter(({ server_id: host }) => live.get(host)?.connected !== false);
  return here.sort((a, b) => (a.started === b.started ? compare(a.sid, b.sid) : compare(b.started, a.started)));
}

/** Parses only the records whose text matches: parsing is expensive. */
async function readSessions(storage: Storage, isWanted: (text: string) => boolean): Promise<readonly ActiveSession[]> {
  const sessions: ActiveSession[] = [];
  for (let after = prefix; ; ) {
    const entries = await storage.list(prefix, { limit: stride, after });
    for (const { key, value } of entries) {
      after = key;
      if (!isWanted(value)) continue;
      sessions.push(...(storedSchema.safeParse(JSON.parse(value)).data ?? []));
      if (value.length > bigRecord) await breathe();
    }
    if (entries.length < stride) return sessions;
    await breathe();
  }
}

/** The session of this id; undefined when several hosts claim it. */
export async function findActiveSession(context: Pick<AuthContext, "storage" | "live">, sid: string): Promise<ActiveSession | undefined> {
  const text = JSON.stringify(sid);
  const candidates = await readSessions(context.storage, (record) => record.includes(text));
  const [found, another] = connected(candidates, context).filter((session) => session.sid === sid);
  return another === undefined ? found : undefined;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
