import { z } from "zod";
import type { Entry, Storage, Write } from "../../storage/storage.ts";
import { appSessionRemovals } from "../app-sessions/stored-app-session.ts";
import { confirmationRemovals } from "./stored-confirmation.ts";

/** A session of a browser, as it is stored: without its secret. */
const storedSchema = z.object({
  id: z.string(),
  user: z.string(),
  /** Distinguishes the user from a later one of the same name. */
  user_id: z.string().optional(),
  secret_hash: z.string(),
  created: z.string(),
  expires: z.string(),
  last_used: z.string(),
  /** IP address of the login. */
  address: z.string(),
  user_agent: z.string(),
});
export type StoredSession = z.infer<typeof storedSchema>;

export async function readSession(storage: Storage, id: string): Promise<{ readonly session: StoredSession; readonly revision: string } | undefined> {
  const entry = await storage.get(sessionKey(id));
  return entry === undefined ? undefined : { session: parsed(entry), revision: entry.revision };
}

/** Sessions of a user, the newest first. */
export async function sessionsOf(storage: Storage, user: string): Promise<readonly StoredSession[]> {
  const listed = await storage.list(ownPrefix(user));
  const found = await Promise.all(listed.map(({ key }) => readSession(storage, key.slice(key.lastIndexOf("/") + 1))));
  return found.flatMap((one) => (one === undefined ? [] : [one.session])).toSorted((a, b) => (a.created > b.created ? -1 : 1));
}

/** A new session, and its place in the list of its user. */
export function newSessionWrites(session: StoredSession): readonly Write[] {
  const expires = new Date(session.expires);
  return [
    { key: sessionKey(session.id), value: JSON.stringify(session), expires, expect: "absent" },
    { key: `${ownPrefix(session.user)}${session.id}`, value: "", expires },
  ];
}

/** A session that is there still, changed. */
export function changedSessionWrite(session: StoredSession, revision: string): Write {
  return { key: sessionKey(session.id), value: JSON.stringify(session), expires: new Date(session.expires), expect: { revision } };
}

/** Ends sessions, with the sessions of applications that began from them, and what was confirmed in them. */
export async function sessionRemovals(storage: Storage, sessions: readonly Pick<StoredSession, "id" | "user">[]): Promise<readonly Write[]> {
  const ofThem = await Promise.all(sessions.flatMap(({ id }) => [appSessionRemovals(storage, id), confirmationRemovals(storage, id)]));
  return [...sessions.flatMap(({ id, user }) => [{ key: sessionKey(id) }, { key: `${ownPrefix(user)}${id}` }]), ...ofThem.flat()];
}

/** Ends all sessions of a user: with the user, or with the password. */
export async function allSessionRemovals(storage: Storage, user: string): Promise<readonly Write[]> {
  return await sessionRemovals(storage, await sessionsOf(storage, user));
}

function sessionKey(id: string): string {
  return `/browser_session/${id}`;
}

function ownPrefix(user: string): string {
  return `/browser_session_of/${encodeURIComponent(user)}/`;
}

function parsed(entry: Entry): StoredSession {
  return storedSchema.parse(JSON.parse(entry.value));
}
