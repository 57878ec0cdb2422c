import { ipOf } from "../../../core/transport/host-port.ts";
import { newSessionCredential, secretHash } from "../../browser/session-credential.ts";
import type { AuthContext } from "../auth-context.ts";
import { byPassword, type LoginProof, type LoginWay, loginWith } from "../login/login.ts";
import { byPasskey } from "../passkeys/by-passkey.ts";
import type { PasskeyAnswer } from "../passkeys/use-assertion.ts";
import { newSessionWrites, type StoredSession, sessionRemovals, sessionsOf } from "./stored-session.ts";

/** Longest session of a browser, ms, whatever the roles allow. */
const longestMs = 12 * 3_600_000;
/** Most sessions of one user; the oldest then ends. */
const maxSessions = 50;
const maxAgent = 256;

interface BrowserFacts {
  /** What the browser says of itself. */
  readonly userAgent: string;
}

export type OpenSessionAsk = LoginProof & BrowserFacts;

export interface PasskeyLogin extends BrowserFacts {
  /** Restricts the login to this user; empty: any user may log in. */
  readonly user: string;
  readonly answer: PasskeyAnswer;
  readonly address: string;
}

interface OpenedSession {
  readonly session: StoredSession;
  /** Not stored. */
  readonly secret: string;
}

/** Opens a session for password and one-time code. Throws as `loginWith`. */
export async function openSession(context: AuthContext, ask: OpenSessionAsk): Promise<OpenedSession> {
  return await openWith(context, { ...ask, proof: byPassword(context, ask), method: "browser" });
}

/** Opens a session for a passkey. Throws as `loginWith`, and `denied` for a challenge that does not count any more. */
export async function openSessionByPasskey(context: AuthContext, { user: only, answer, address, userAgent }: PasskeyLogin): Promise<OpenedSession> {
  const { user, proof } = await byPasskey(context, { answer, only, address });
  return await openWith(context, { user, proof, address, userAgent, method: "passkey" });
}

/**
 * Opens a session with the throttle and the answers of every login. It ends when a certificate of this login would, after 12 hours at the latest.
 */
async function openWith(context: AuthContext, ask: LoginWay & BrowserFacts): Promise<OpenedSession> {
  const { storage } = context;
  return await loginWith(context, ask, async ({ identity, userId, now }) => {
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
