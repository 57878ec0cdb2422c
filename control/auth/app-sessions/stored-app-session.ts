import { z } from "zod";
import type { Storage, Write } from "../../storage/storage.ts";

/** A session of a browser with one application, as it is stored: without its secrets. */
const storedSchema = z.object({
  id: z.string(),
  /** The browser session that it belongs to, and ends with. */
  browser_session: z.string(),
  user: z.string(),
  app: z.string(),
  secret_hash: z.string(),
  subject_hash: z.string(),
  created: z.string(),
  expires: z.string(),
  /** The browser has taken it over at the application's host name. */
  begun: z.boolean(),
  /** What confirmed the session, and from which IP address it may be used for that. */
  mfa: z.object({ device: z.string(), address: z.string() }).optional(),
});
export type StoredAppSession = z.infer<typeof storedSchema>;

export async function readAppSession(
  storage: Storage,
  id: string,
): Promise<{ readonly session: StoredAppSession; readonly revision: string } | undefined> {
  const entry = await storage.get(sessionKey(id));
  return entry === undefined ? undefined : { session: storedSchema.parse(JSON.parse(entry.value)), revision: entry.revision };
}

/** The session has begun, which it does once. */
export function begunWrite(session: StoredAppSession, revision: string): Write {
  return {
    key: sessionKey(session.id),
    value: JSON.stringify({ ...session, begun: true }),
    expires: new Date(session.expires),
    expect: { revision },
  };
}

export function newAppSessionWrites(session: StoredAppSession): readonly Write[] {
  const expires = new Date(session.expires);
  return [
    { key: sessionKey(session.id), value: JSON.stringify(session), expires, expect: "absent" },
    // In the order of their beginning.
    { key: `${ownPrefix(session.browser_session)}${session.created}/${session.id}`, value: "", expires },
  ];
}

/** Ends one session. */
export function appSessionRemoval(session: StoredAppSession): readonly Write[] {
  return [{ key: sessionKey(session.id) }, { key: `${ownPrefix(session.browser_session)}${session.created}/${session.id}` }];
}

/** Ends the oldest sessions that began from a browser session, all but the newest `keep`. */
export async function appSessionRemovals(storage: Storage, browserSession: string, keep = 0): Promise<readonly Write[]> {
  const listed = await storage.list(ownPrefix(browserSession));
  return listed.slice(0, Math.max(0, listed.length - keep)).flatMap(({ key }) => [{ key: sessionKey(key.slice(key.lastIndexOf("/") + 1)) }, { key }]);
}

function sessionKey(id: string): string {
  return `/app_session/${id}`;
}

function ownPrefix(browserSession: string): string {
  return `/app_session_of/${browserSession}/`;
}
