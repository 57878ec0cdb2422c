import type { AuthClient } from "../core/api/auth-client.ts";
import { readDocuments } from "../core/resources/document.ts";
import { type ListedSession, listedSessionDocument } from "../core/resources/session.ts";
import type { Result } from "./output.ts";
import { renderTable } from "./table.ts";

/** The running sessions that the caller may see, newest first. */
export async function activeSessions(client: AuthClient): Promise<readonly ListedSession[]> {
  const { sessionsJson } = await client.listSessions({});
  return readDocuments(listedSessionDocument, sessionsJson);
}

export function sessionsResult(sessions: readonly ListedSession[]): Result {
  return { data: sessions, text: sessionsTable(sessions), names: sessions.map(({ sid }) => sid) };
}

export function sessionsTable(sessions: readonly ListedSession[]): string {
  const rows = sessions.map(({ sid, kind, login, server_name: host, user, started, participants }) => [
    sid,
    kind,
    `${login}@${host}`,
    user,
    started.replace(/\.\d+Z$/, "Z"),
    participants.map((one) => `${one.user} (${one.mode})`).join(", "),
  ]);
  return renderTable(["Session", "Kind", "Where", "User", "Started", "Joined by"], rows);
}
