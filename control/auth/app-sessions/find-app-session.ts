import { findLock, lockedError } from "../../../core/access/find-lock.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { type Marking, marked } from "../../browser/marked.ts";
import { isSessionId, secretHash } from "../../browser/session-credential.ts";
import { sameSecret } from "../../same-secret.ts";
import { listLocks } from "../access/locks.ts";
import type { AuthContext } from "../auth-context.ts";
import { endedError, isOpen, useSessionOf } from "../browser-sessions/find-session.ts";
import { readSession } from "../browser-sessions/stored-session.ts";
import { type RelayedServedAsk, signRelayedServed } from "../certificates/sign-relayed-served.ts";
import { appSessionRemoval, begunWrite, readAppSession, type StoredAppSession } from "./stored-app-session.ts";

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

/** Time from the making of a session to its beginning at the application's host name, ms. */
const handOffMs = 60_000;

/**
 * Begins a session at the application's host name: once, so that what the browser was handed is worth nothing afterwards. Throws as `useAppSession`.
 */
export async function beginAppSession(context: AuthContext, ask: AppSessionAsk): Promise<SessionUse> {
  const found = await provenSession(context, ask.credential);
  const ageMs = found === undefined ? 0 : context.now().getTime() - new Date(found.session.created).getTime();
  if (found === undefined || found.session.begun || ageMs >= handOffMs) throw endedError();
  const use = await useOf(context, { found, app: ask.app });
  try {
    await context.storage.batch([begunWrite(found.session, found.revision)]);
  } catch (thrown) {
    if (thrown instanceof PlatformError && thrown.code === "conflict") throw endedError();
    throw thrown;
  }
  return use;
}

interface SessionUse {
  readonly session: StoredAppSession;
  readonly identity: UserIdentity;
}

/** The user of a session that has begun. Throws `unauthenticated`, or `denied` for a locked user. */
export async function useAppSession(context: AuthContext, { credential, app }: AppSessionAsk): Promise<SessionUse> {
  const found = await provenSession(context, credential);
  if (found === undefined || !found.session.begun) throw endedError();
  return await useOf(context, { found, app });
}

async function useOf(context: AuthContext, { found: { session }, app }: { readonly found: Found; readonly app: string }): Promise<SessionUse> {
  if (session.app !== app) throw endedError();
  const { identity } = await useSessionOf(context, session.browser_session);
  const now = context.now();
  const { name: user, userId, roles } = identity;
  const lock = findLock(await listLocks(context.storage), { user, userId, roles, now });
  if (lock !== undefined) throw lockedError(lock);
  return { session, identity };
}

/** A certificate with which a proxy speaks for the user at the session's application. Throws as `useAppSession` and `signRelayedServed`. */
export async function signBrowserApp(context: AuthContext, ask: AppSessionAsk & Omit<RelayedServedAsk, "identity" | "sessionId">): Promise<string> {
  const { session, identity } = await useAppSession(context, ask);
  const marking = markingAt(session, ask.clientAddress);
  const user = { ...marked(identity, marking), route: { kind: "app", name: ask.app } };
  return await signRelayedServed(context, { ...ask, identity: user, sessionId: session.id });
}

/** What confirmed a session, for use from this address; undefined: it needed no code, or its browser has another address now. */
function markingAt({ app, mfa }: StoredAppSession, address: string): Marking | undefined {
  return mfa?.address === ipOf(address) ? { device: mfa.device, kind: "app", name: app, sourceIp: mfa.address } : undefined;
}

/** Those of these sessions that have ended. */
export async function endedAppSessions(context: AuthContext, ids: readonly string[]): Promise<readonly string[]> {
  const now = context.now();
  const ended: string[] = [];
  for (const id of ids) {
    const found = await readAppSession(context.storage, id);
    const parent = found === undefined ? undefined : await readSession(context.storage, found.session.browser_session);
    if (parent === undefined || !isOpen(parent.session, now)) ended.push(id);
  }
  return ended;
}

/** Ends a session at its user's wish. A session that is unknown has ended already. */
export async function endAppSession(context: AuthContext, { credential }: Pick<AppSessionAsk, "credential">): Promise<void> {
  const found = await provenSession(context, credential);
  if (found !== undefined) await context.storage.batch(appSessionRemoval(found.session));
}

/**
 * Ends a session whose hand-off to an application's host name was refused: its secret is in wrong hands. The secret is required, so that nobody ends sessions
 * by their ids. Returns the session that there was.
 */
export async function endRefused(context: AuthContext, credential: AppCredential): Promise<StoredAppSession | undefined> {
  const session = (await provenSession(context, { ...credential, subject: undefined }))?.session;
  if (session !== undefined) await context.storage.batch(appSessionRemoval(session));
  return session;
}

export interface RefusedHandOff {
  readonly session: StoredAppSession | undefined;
  readonly app: string;
  readonly reason: string;
  readonly address: string;
}

/** Records a refused hand-off. */
export function recordRefusal(context: AuthContext, { session, app, reason, address }: RefusedHandOff): void {
  const user = session === undefined ? {} : { user: session.user, sid: session.id };
  context.audit.emitRefusal({ event: "auth", error: reason.slice(0, 512), app_name: app.slice(0, 256), ...user, "addr.remote": address });
}

type Found = NonNullable<Awaited<ReturnType<typeof readAppSession>>>;

/** The session with this id, secret and, unless it is undefined, subject. */
async function provenSession(
  { storage }: AuthContext,
  { id, secret, subject }: Omit<AppCredential, "subject"> & { readonly subject: string | undefined },
): Promise<Found | undefined> {
  const found = isSessionId(id) ? await readAppSession(storage, id) : undefined;
  if (found === undefined) return undefined;
  const isSecret = sameSecret(secretHash(secret), found.session.secret_hash);
  const isSubject = subject === undefined || sameSecret(secretHash(subject), found.session.subject_hash);
  return isSecret && isSubject ? found : undefined;
}

/** Throws `invalid` for a call without a credential. */
export function requireCredential(credential: AppCredential | undefined): AppCredential {
  if (credential === undefined) throw new PlatformError("invalid", "the call has no credential of a session");
  return credential;
}
