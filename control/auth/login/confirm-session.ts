import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import { acceptedStep, readCredential } from "../users/credentials.ts";
import { countWrong, inTurn, spendCode, wrongError } from "./login.ts";
import { throttledError, throttledUntil } from "./login-throttle.ts";

/** What a user confirms a session with: a code of the authenticator that the user has for the login. */
export interface Confirmation {
  readonly kind: "code";
  readonly code: string;
}

/** The device behind each kind of confirmation: the mark of certificates and the audit log name it. */
const devices = { code: "otp" } as const satisfies Record<Confirmation["kind"], string>;

export interface ConfirmAsk {
  /** Known by certificate or by a browser's session; exists. */
  readonly user: string;
  readonly confirmation: Confirmation;
  readonly address: string;
  /** What the session is with. */
  readonly target: { readonly kind: string; readonly name: string };
}

/**
 * Checks and uses up what confirms a session of a user who is known already. Wrong ones count as those of logins do: after five in a row the name is locked for that
 * address. Returns the device. Throws `unauthenticated`, `limit`; wrong ones are recorded one by one.
 */
export async function confirmSession(context: AuthContext, ask: ConfirmAsk): Promise<string> {
  try {
    await inTurn(context, ask, () => checkCode(context, { ...ask, code: ask.confirmation.code }));
  } catch (thrown) {
    recordUnconfirmed(context, ask, thrown);
    throw thrown;
  }
  const event = eventOf(ask);
  context.audit.emit({ ...event, success: true });
  return event.mfa_device;
}

/** Records why a session was not confirmed, also where the confirmation itself was not looked at; such refusals, which nothing else limits, are summed up. */
export function recordUnconfirmed(context: AuthContext, ask: ConfirmAsk, thrown: unknown): void {
  const known = thrown instanceof PlatformError ? thrown : undefined;
  const error = known?.message ?? "internal error";
  context.audit.emitRefusal({ ...eventOf(ask), success: false, error }, { isWrongTry: known?.code === "unauthenticated" });
}

function eventOf({ user, confirmation, address, target }: ConfirmAsk) {
  return {
    event: "mfa_auth_challenge.validate",
    user,
    mfa_device: devices[confirmation.kind],
    resource_kind: target.kind.slice(0, 64),
    resource_name: target.name.slice(0, 256),
    "addr.remote": address,
  } as const;
}

interface CodeAsk extends Pick<ConfirmAsk, "user" | "address"> {
  readonly code: string;
}

async function checkCode(context: AuthContext, { user, code, address }: CodeAsk): Promise<void> {
  const { storage } = context;
  const attempt = { user, address };
  const locked = await throttledUntil(storage, attempt);
  if (locked !== undefined) throw throttledError(locked);
  const stored = await readCredential(storage, user);
  const totp = stored?.credential.totp;
  const now = context.now();
  const step = totp && acceptedStep({ secret: totp.secret, code, now, lastStep: totp.last_step });
  if (stored === undefined || totp === undefined || step === undefined) {
    throw wrongError(await countWrong(context, { ...attempt, name: user }), "wrong one-time code, or one that was used before");
  }
  const spent = { ...stored, credential: { ...stored.credential, totp: { secret: totp.secret, last_step: step } } };
  await spendCode(context, attempt, { spent, writes: [] });
}
