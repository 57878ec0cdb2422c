import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import { acceptedStep, readCredential } from "../users/credentials.ts";
import { countWrong, inTurn, spendCode, wrongError } from "./login.ts";
import { throttledError, throttledUntil } from "./login-throttle.ts";

/** What confirms a session: the authenticator that a user has for the login. */
export const otpDevice = "otp";

export interface CodeAsk {
  /** Known by certificate or by a browser's session; exists. */
  readonly user: string;
  readonly code: string;
  readonly address: string;
  /** What the code is for, for the audit log. */
  readonly target: { readonly kind: string; readonly name: string };
}

/**
 * Checks and uses up a one-time code of a user who is known already. Wrong ones count as those of logins do: after five in a row the name is locked for that
 * address. Throws `unauthenticated`, `limit`; each failure is recorded.
 */
export async function confirmCode(context: AuthContext, ask: CodeAsk): Promise<void> {
  const { user, code, address, target } = ask;
  const event = {
    event: "mfa_auth_challenge.validate",
    user,
    mfa_device: otpDevice,
    resource_kind: target.kind.slice(0, 64),
    resource_name: target.name.slice(0, 256),
    "addr.remote": address,
  } as const;
  try {
    await inTurn(context, ask, () => check(context, { user, code, address }));
  } catch (thrown) {
    const error = thrown instanceof PlatformError ? thrown.message : "internal error";
    context.audit.emitRefusal({ ...event, success: false, error });
    throw thrown;
  }
  context.audit.emit({ ...event, success: true });
}

async function check(context: AuthContext, ask: Omit<CodeAsk, "target">): Promise<void> {
  const { storage } = context;
  const locked = await throttledUntil(storage, ask);
  if (locked !== undefined) throw throttledError(locked);
  const stored = await readCredential(storage, ask.user);
  const totp = stored?.credential.totp;
  const now = context.now();
  const step = totp && acceptedStep({ secret: totp.secret, code: ask.code, now, lastStep: totp.last_step });
  if (stored === undefined || totp === undefined || step === undefined) {
    throw wrongError(await countWrong(context, { ...ask, name: ask.user }), "wrong one-time code, or one that was used before");
  }
  const spent = { ...stored, credential: { ...stored.credential, totp: { secret: totp.secret, last_step: step } } };
  await spendCode(context, ask, { spent, writes: [] });
}
