import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import { byPassword, type LoginProof } from "../login/login.ts";
import { ownPasskeyRemovals, reportRemoved } from "../passkeys/remove-all.ts";
import { checkPassword } from "../users/credentials.ts";
import { otherSessions, reportEnded } from "./end-sessions.ts";
import { proveAgain } from "./prove-again.ts";

export interface PasswordChange extends LoginProof {
  /** The session in which the user asks: it stays. */
  readonly sessionId: string;
  readonly newPassword: string;
  /** Removes all passkeys of the user too. */
  readonly removePasskeys: boolean;
}

/**
 * Replaces a user's password for the old one and a one-time code, with the throttle of every login: a stolen session is not enough. All other sessions of the
 * user in browsers end with it, and the passkeys where that is asked; certificates stay good until they expire. Returns the number of sessions that ended. Throws `invalid` for a new password that may
 * not be one, `denied` for a wrong old one or a wrong code, and `limit` after too many.
 */
export async function changePassword(context: AuthContext, ask: PasswordChange): Promise<number> {
  const { newPassword, sessionId, address, removePasskeys } = ask;
  checkPassword(newPassword);
  if (newPassword.normalize("NFKC") === ask.password.normalize("NFKC")) throw new PlatformError("invalid", "the new password is the old one");
  const way = { ...ask, proof: byPassword(context, ask), event: "user.password_change" } as const;
  const { ended, removed } = await proveAgain(context, way, async ({ identity: { name: user }, userId }) => {
    const { sessions, removals } = await otherSessions(context, { user, id: sessionId });
    const { passkeys, writes } = await ownPasskeyRemovals(context, { user, userId, isAsked: removePasskeys });
    return { result: { ended: sessions, removed: passkeys }, writes: [...removals, ...writes], password: await context.hasher.make(newPassword) };
  });
  reportRemoved(context, removed, ask);
  reportEnded(context, ended, address);
  return ended.length;
}
