import { ipOf } from "../../../core/transport/host-port.ts";
import { newSessionCredential, secretHash } from "../../browser/session-credential.ts";
import type { AuthContext } from "../auth-context.ts";
import { type LoginProof, loginWith } from "../login/login.ts";
import { newSessionWrites, type StoredSession, sessionRemovals, sessionsOf } from "./stored-session.ts";

/** Longest session of a browser, ms, whatever the roles allow. */
const longestMs = 12 * 3_600_000;
/** Most sessions of one user; the oldest then ends. */
const maxSessions = 50;
const maxAgent = 256;

export interface OpenSessionAsk extends LoginProof {
  /** What the browser says of itself. */
  readonly userAgent: string;
}

/**
 * Opens a session for password and one-time code, with the throttle and the answers of every login. It ends when a certificate of this login would, after
 * 12 hours at the latest. Returns the secret, which is not stored. Throws as `loginWith`.
 */
export async function openSession(context: AuthContext, ask: OpenSessionAsk): Promise<{ readonly session: StoredSession; readonly secret: string }> {
  const { storage } = context;
  return await loginWith(context, { ...ask, method: "browser" }, async ({ identity, userId, now }) => {
    const { id, secret } = newSessionCredential();
    const expires = new Date(Math.min(identity.validBefore.getTime(), now.getTime() + longestMs));
    const session: StoredSession = {
      id,
      user: identity.name,
      ...(userId !== undefined && { user_id: userId }),
      secret_hash: secretHash(secret),
      created: now.toISOString(),
      expires: expires.toISOString(),
      last_used: now.toISOString(),
      address: ipOf(ask.address),
      user_agent: ask.userAgent.slice(0, maxAgent),
    };
    const oldest = (await sessionsOf(storage, identity.name)).slice(maxSessions - 1);
    return { result: { session, secret }, writes: [...newSessionWrites(session), ...(await sessionRemovals(storage, oldest))], sid: id };
  });
}
