import type { AuthClient } from "../core/api/auth-client.ts";
import { readDocument, readDocuments, resourceDocument } from "../core/resources/document.ts";
import type { Node } from "../core/resources/node.ts";
import type { Resource } from "../core/resources/resource-specs.ts";
import { type ListedSession, listedSessionDocument, sessionPlace } from "../core/resources/session.ts";
import type { HostFilter } from "./host-filter.ts";
import type { Result } from "./output.ts";
import { renderTable } from "./table.ts";

/*
 * What both tsh and tctl read from the auth service: hosts, and running sessions. Apart from host-filter.ts, which is loaded at the start of
 * both programs: documents need a schema library.
 */

/** Nodes per answer. */
const page = 1_000;

/** The matching hosts, by name, page by page. */
export async function listHosts(client: Pick<AuthClient, "listResources">, { labels, search, query }: HostFilter): Promise<readonly Node[]> {
  const nodes: Node[] = [];
  let cursor = "";
  do {
    const answer = await client.listResources({ kind: "node", labels, search: [...search], query, limit: page, cursor });
    nodes.push(...answer.resources.map(({ json }) => readResource<Node>(json)));
    cursor = answer.cursor;
  } while (cursor !== "");
  // An older auth service does not know the filter: a command must not run on hosts that the user did not choose.
  const wanted = Object.entries(labels);
  return nodes.filter(({ metadata }) => wanted.every(([key, value]) => metadata.labels?.[key] === value)).sort(byName);
}

function byName(a: Node, b: Node): number {
  if (a.spec.hostname === b.spec.hostname) return a.metadata.name < b.metadata.name ? -1 : 1;
  return a.spec.hostname < b.spec.hostname ? -1 : 1;
}

/**
 * A resource from the auth service, which has checked it against the schema of its own version. Fields that this version does not know stay in it: they
 * are printed, not refused.
 */
export function readResource<T extends Resource>(json: string): T {
  return readDocument(resourceDocument, json) as T;
}

/** The running sessions that the caller may see, newest first. */
export async function activeSessions(client: AuthClient): Promise<readonly ListedSession[]> {
  const { sessionsJson } = await client.listSessions({});
  return readDocuments(listedSessionDocument, sessionsJson);
}

export function sessionsResult(sessions: readonly ListedSession[]): Result {
  return { data: sessions, text: sessionsTable(sessions), names: sessions.map(({ sid }) => sid) };
}

function sessionsTable(sessions: readonly ListedSession[]): string {
  const rows = sessions.map(({ sid, kind, user, started, participants, ...where }) => [
    sid,
    kind,
    sessionPlace(where),
    user,
    started.replace(/\.\d+Z$/, "Z"),
    participants.map((one) => `${one.user} (${one.mode})`).join(", "),
  ]);
  return renderTable(["Session", "Kind", "Where", "User", "Started", "Joined by"], rows);
}
