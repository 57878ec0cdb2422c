import { z } from "zod";
import { parseJsonAs } from "../../../core/bytes/parse-json.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type ActiveSession, activeSessionSchema, maxSessions } from "../../../core/resources/session.ts";
import type { AuthContext } from "../auth-context.ts";

/** A process of an agent renews three times in this time. Seconds. */
export const sessionSeconds = 60;

const prefix = "/session/";
const processSchema = z.uuid("a process has a UUID");
const storedSchema = z.array(activeSessionSchema);

export interface SessionReport {
  /** Id of the host that says so. */
  readonly host: string;
  /** UUID of its process. */
  readonly process: string;
  readonly sessionsJson: readonly string[];
}

/** Takes what one process of a host has: stored, for a reload of this service runs two processes. Throws `invalid`. */
export async function reportSessions(context: Pick<AuthContext, "storage" | "now">, report: SessionReport): Promise<number> {
  const { storage, now } = context;
  const process = processSchema.safeParse(report.process);
  if (!process.success) throw new PlatformError("invalid", "process: a UUID");
  if (report.sessionsJson.length > maxSessions) throw new PlatformError("invalid", `at most ${maxSessions} sessions of a process are taken`);
  const sessions = report.sessionsJson.map((json) => parseJsonAs(activeSessionSchema, json, "a running session"));
  // A host speaks for itself only, and a process for itself.
  const own = sessions.map((session) => ({ ...session, server_id: report.host, process: report.process }));
  const key = `${prefix}${report.host}/${report.process}`;
  if (own.length === 0) await storage.delete(key);
  else await storage.put({ key, value: JSON.stringify(own), expires: new Date(now().getTime() + sessionSeconds * 1000) });
  return sessionSeconds;
}

/** The sessions of hosts that are connected, the newest first. */
export async function listActiveSessions({ storage, live }: Pick<AuthContext, "storage" | "live">): Promise<readonly ActiveSession[]> {
  const entries = await storage.list(prefix);
  const sessions = entries.flatMap(({ value }) => storedSchema.safeParse(JSON.parse(value)).data ?? []);
  // After a start of this service it is not known yet who is connected: what was told counts then.
  const here = sessions.filter(({ server_id: host }) => live.get(host)?.connected !== false);
  return here.sort((a, b) => (a.started === b.started ? compare(a.sid, b.sid) : compare(b.started, a.started)));
}

/** The session of this id; none when several hosts claim to have it. */
export async function findActiveSession(context: Pick<AuthContext, "storage" | "live">, sid: string): Promise<ActiveSession | undefined> {
  const [found, another] = (await listActiveSessions(context)).filter((session) => session.sid === sid);
  return another === undefined ? found : undefined;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
