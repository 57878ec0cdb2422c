import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { isSessionId, parseCredential, secretHash } from "../../browser/session-credential.ts";
import { sameSecret } from "../../same-secret.ts";
import type { AuthContext } from "../auth-context.ts";
import { loginTtl, userIdentity } from "../certificates/user-identity.ts";
import { findUser, readUserId } from "../users/users.ts";
import { changedSessionWrite, readSession, type StoredSession } from "./stored-session.ts";

/** Time without use after which a session has ended, ms. */
const idleMs = 3_600_000;
/** The last use is stored this precisely, ms: not every call writes. */
const useMs = 60_000;

export interface SessionUser {
  readonly session: StoredSession;
  /** By the user's current roles, until the end of the session. */
  readonly identity: UserIdentity;
}

/** The session of a credential `<id>.<secret>`, which this call uses unless it `isUnused`. Throws `unauthenticated`. */
export async function useSession(context: AuthContext, text: string, { isUnused = false } = {}): Promise<SessionUser> {
  const credential = parseCredential(text);
  const found = credential === undefined ? undefined : await readSession(context.storage, credential.id);
  if (credential === undefined || found === undefined || !sameSecret(secretHash(credential.secret), found.session.secret_hash)) throw endedError();
  return await useStored(context, { ...found, isUnused });
}

/** The session of this id, for what began from it. Throws `unauthenticated`. */
export async function useSessionOf(context: AuthContext, id: string): Promise<SessionUser> {
  const found = await readSession(context.storage, id);
  if (found === undefined) throw endedError();
  return await useStored(context, found);
}

/** Whether a session is there still; time without use does not count, for connections that were open before. */
export function isOpen(session: StoredSession, now: Date): boolean {
  return now < new Date(session.expires);
}

/** Those of these sessions that have ended. */
export async function endedSessions(context: AuthContext, ids: readonly string[]): Promise<readonly string[]> {
  const now = context.now();
  const ended: string[] = [];
  for (const id of ids) {
    const found = isSessionId(id) ? await readSession(context.storage, id) : undefined;
    if (found === undefined || !isOpen(found.session, now)) ended.push(id);
  }
  return ended;
}

async function useStored(
  context: AuthContext,
  { session, revision, isUnused = false }: { readonly session: StoredSession; readonly revision: string; readonly isUnused?: boolean },
): Promise<SessionUser> {
  const now = context.now();
  const unusedMs = now.getTime() - new Date(session.last_used).getTime();
  if (!isOpen(session, now) || unusedMs >= idleMs) throw endedError();
  const identity = await identityOf(context, session);
  if (unusedMs >= useMs && !isUnused) await noteUse(context, { session: { ...session, last_used: now.toISOString() }, revision });
  return { session, identity };
}

/** Throws `unauthenticated` for a removed user, even if another one has the name now. */
async function identityOf(context: AuthContext, session: StoredSession): Promise<UserIdentity> {
  const userId = await readUserId(context.storage, session.user);
  const user = await findUser(context, session.user);
  if (user === undefined || userId !== session.user_id) throw endedError();
  const identity = await userIdentity(context, user, { userId, ttlSeconds: 0, most: loginTtl, address: session.address });
  return { ...identity, validBefore: new Date(session.expires) };
}

/** Two calls at a time need one write, and a full disk does not end the session. */
async function noteUse(
  { storage, log }: AuthContext,
  { session, revision }: { readonly session: StoredSession; readonly revision: string },
): Promise<void> {
  try {
    await storage.batch([changedSessionWrite(session, revision)]);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError)) throw thrown;
    log.debug("could not record the use of a browser session", { session: session.id, error: thrown.message });
  }
}

export function endedError(): PlatformError {
  return new PlatformError("unauthenticated", "this session has ended", { hint: "log in again" });
}
