import { findLock, lockedError } from "../../../core/access/find-lock.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { secretHash } from "../../browser/session-credential.ts";
import { sameSecret } from "../../same-secret.ts";
import { listLocks } from "../access/locks.ts";
import type { AuthContext } from "../auth-context.ts";
import { endedError, isOpen, useSessionOf } from "../browser-sessions/find-session.ts";
import { readSession } from "../browser-sessions/stored-session.ts";
import { type RelayedServedAsk, signRelayedServed } from "../certificates/sign-relayed-served.ts";
import { appSessionRemoval, readAppSession, type StoredAppSession } from "./stored-app-session.ts";

/** What a browser has sent to an application's host name. */
export interface AppCredential {
  readonly id: string;
  readonly secret: string;
  readonly subject: string;
}

export interface AppSessionAsk {
  readonly credential: AppCredential;
  /** The application whose host name it was. */
  readonly app: string;
}

/** The user of a session with an application. Throws `unauthenticated`, or `denied` for a locked user. */
export async function useAppSession(
  context: AuthContext,
  { credential, app }: AppSessionAsk,
): Promise<{ readonly session: StoredAppSession; readonly identity: UserIdentity }> {
  const session = await provenSession(context, credential);
  if (session === undefined || session.app !== app) throw endedError();
  const { identity } = await useSessionOf(context, session.browser_session);
  const now = context.now();
  const { name: user, userId, roles } = identity;
  const lock = findLock(await listLocks(context.storage), { user, userId, roles, now });
  if (lock !== undefined) throw lockedError(lock);
  return { session, identity };
}

/** A certificate with which a proxy speaks for the user at the session's application. Throws as `useAppSession` and `signRelayedServed`. */
export async function signBrowserApp(context: AuthContext, ask: AppSessionAsk & Omit<RelayedServedAsk, "identity">): Promise<string> {
  const { identity } = await useAppSession(context, ask);
  return await signRelayedServed(context, { ...ask, identity: { ...identity, route: { kind: "app", name: ask.app } } });
}

/** Those of these sessions that have ended. */
export async function endedAppSessions(context: AuthContext, ids: readonly string[]): Promise<readonly string[]> {
  const now = context.now();
  const ended: string[] = [];
  for (const id of ids) {
    const session = await readAppSession(context.storage, id);
    const parent = session === undefined ? undefined : await readSession(context.storage, session.browser_session);
    if (parent === undefined || !isOpen(parent.session, now)) ended.push(id);
  }
  return ended;
}

/** Ends a session at its user's wish. A session that is unknown has ended already. */
export async function endAppSession(context: AuthContext, { credential }: Pick<AppSessionAsk, "credential">): Promise<void> {
  const session = await provenSession(context, credential);
  if (session !== undefined) await context.storage.batch(appSessionRemoval(session));
}

export interface RefusedHandOff extends AppSessionAsk {
  readonly reason: string;
  readonly address: string;
}

/**
 * The hand-off of a session to an application's host name was refused: it ends, as its secret is in wrong hands, and the refusal is recorded. The secret is
 * required, so that nobody ends sessions by their ids.
 */
export async function refuseHandOff(context: AuthContext, { credential, app, reason, address }: RefusedHandOff): Promise<void> {
  const session = await provenSession(context, { ...credential, subject: undefined });
  if (session !== undefined) await context.storage.batch(appSessionRemoval(session));
  const user = session === undefined ? {} : { user: session.user, sid: session.id };
  context.audit.emitRefusal({ event: "auth", error: reason.slice(0, 512), app_name: app.slice(0, 256), ...user, "addr.remote": address });
}

/** The session with this id, secret and, unless it is undefined, subject. */
async function provenSession(
  { storage }: AuthContext,
  { id, secret, subject }: Omit<AppCredential, "subject"> & { readonly subject: string | undefined },
): Promise<StoredAppSession | undefined> {
  const session = /^[0-9a-f]{32}$/.test(id) ? await readAppSession(storage, id) : undefined;
  if (session === undefined) return undefined;
  const isSecret = sameSecret(secretHash(secret), session.secret_hash);
  const isSubject = subject === undefined || sameSecret(secretHash(subject), session.subject_hash);
  return isSecret && isSubject ? session : undefined;
}

/** Throws `invalid` for a call without a credential. */
export function requireCredential(credential: AppCredential | undefined): AppCredential {
  if (credential === undefined) throw new PlatformError("invalid", "the call has no credential of a session");
  return credential;
}
