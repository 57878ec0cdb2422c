import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import { byPassword, type LoginProof } from "../login/login.ts";
import { checkPassword } from "../users/credentials.ts";
import { otherSessions, reportEnded } from "./end-sessions.ts";
import { proveAgain } from "./prove-again.ts";

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
  const { newPassword, sessionId, address } = ask;
  checkPassword(newPassword);
  if (newPassword.normalize("NFKC") === ask.password.normalize("NFKC")) throw new PlatformError("invalid", "the new password is the old one");
  const ended = await proveAgain(context, { ...ask, proof: byPassword(context, ask), event: "user.password_change" }, async ({ identity }) => {
    const { sessions, removals } = await otherSessions(context, { user: identity.name, id: sessionId });
    return { result: sessions, writes: removals, password: await context.hasher.make(newPassword) };
  });
  reportEnded(context, ended, address);
  return ended.length;
}
