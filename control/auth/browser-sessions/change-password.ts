import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import { type LoginProof, loginWith } from "../login/login.ts";
import { checkPassword } from "../users/credentials.ts";
import { sessionRemovals, sessionsOf } from "./stored-session.ts";

export interface PasswordChange extends LoginProof {
  /** The session in which the user asks: it stays. */
  readonly sessionId: string;
  readonly newPassword: string;
}

/**
 * Replaces a user's password for the old one and a one-time code, with the throttle of every login: a stolen session is not enough. All other sessions of the
 * user in browsers end with it; certificates stay good until they expire. Returns the number of sessions that ended. Throws `invalid` for a new password that may
 * not be one, `denied` for a wrong old one or a wrong code, and `limit` after too many.
 */
export async function changePassword(context: AuthContext, ask: PasswordChange): Promise<number> {
  const { newPassword, sessionId } = ask;
  checkPassword(newPassword);
  if (newPassword.normalize("NFKC") === ask.password.normalize("NFKC")) throw new PlatformError("invalid", "the new password is the old one");
  try {
    const ended = await loginWith(context, { ...ask, event: "user.password_change" }, async ({ identity }) => {
      const others = (await sessionsOf(context.storage, identity.name)).filter(({ id }) => id !== sessionId);
      const password = await context.hasher.make(newPassword);
      return { result: others, writes: await sessionRemovals(context.storage, others), password };
    });
    for (const { id: sid, user: name } of ended) {
      context.audit.emit({ event: "browser_session.end", user: name, name, sid, "addr.remote": ask.address });
    }
    return ended.length;
  } catch (thrown) {
    // `unauthenticated` would mean that the session has ended.
    if (!(thrown instanceof PlatformError) || thrown.code !== "unauthenticated") throw thrown;
    const { hint } = thrown;
    throw new PlatformError("denied", "wrong password or one-time code", { cause: thrown, ...(hint !== undefined && { hint }) });
  }
}
