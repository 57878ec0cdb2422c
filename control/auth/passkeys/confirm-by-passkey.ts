import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import { countWrong, inTurn, useUp, wrongHint } from "../login/login.ts";
import { throttledError, throttledUntil } from "../login/login-throttle.ts";
import { readCredential } from "../users/credentials.ts";
import { newChallenge, type PasskeySite } from "./challenges.ts";
import { readPasskeys, type StoredPasskey } from "./stored-passkeys.ts";
import { type PasskeyAnswer, useAssertion } from "./use-assertion.ts";

/** A user who is known already, in a browser's session, and what a passkey of this user confirms there. */
export interface PasskeyConfirmation {
  readonly user: string;
  readonly userId: string | undefined;
  /** The session's id. */
  readonly browser: string;
  readonly scope: "remove" | "session";
  readonly target: { readonly kind: string; readonly name: string };
}

export interface OfferedChallenge {
  readonly challenge: Buffer;
  /** Passkeys of the user that work at the site. */
  readonly passkeys: readonly StoredPasskey[];
}

/** A challenge for `confirmByPasskey`. Throws `not_found` for a user who has no passkey at this site. */
export async function startConfirmation(context: AuthContext, ask: PasskeyConfirmation & { readonly site: PasskeySite }): Promise<OfferedChallenge> {
  const { user, userId, site, browser, scope, target } = ask;
  const challenge = await newChallenge(context, { purpose: { scope, user, target }, site, browser });
  const passkeys = ((await readPasskeys(context.storage, user, userId))?.passkeys ?? []).filter((one) => one.rp_id === site.host);
  if (passkeys.length === 0) throw new PlatformError("not_found", "you have no passkey at this address", { hint: "use your password and a code" });
  return { challenge, passkeys };
}

/**
 * Checks and uses up the assertion of a passkey of this user for this scope and target. Wrong ones count as failed logins do. Returns the device, as audit events
 * have it. Throws `denied`, `limit`; the failure is recorded.
 */
export async function confirmByPasskey(
  context: AuthContext,
  ask: PasskeyConfirmation & { readonly answer: Omit<PasskeyAnswer, "browser">; readonly address: string },
): Promise<string> {
  const { user, address, target } = ask;
  const event = {
    event: "mfa_auth_challenge.validate",
    user,
    resource_kind: target.kind.slice(0, 64),
    resource_name: target.name.slice(0, 256),
    "addr.remote": address,
  } as const;
  try {
    const device = await inTurn(context, { user, address }, () => check(context, ask));
    context.audit.emit({ ...event, mfa_device: device, success: true });
    return device;
  } catch (thrown) {
    const error = thrown instanceof PlatformError ? thrown.message : "internal error";
    context.audit.emitRefusal({ ...event, mfa_device: "passkey", success: false, error });
    throw thrown;
  }
}

async function check(context: AuthContext, ask: Parameters<typeof confirmByPasskey>[1]): Promise<string> {
  const { user, userId, address, browser, scope, target } = ask;
  const locked = await throttledUntil(context.storage, { user, address });
  if (locked !== undefined) throw throttledError(locked);
  const claimed = { user, userId, address, stored: await readCredential(context.storage, user) };
  const shown = await useAssertion(context, claimed, { answer: { ...ask.answer, browser }, purpose: { scope, user, target } });
  if (shown === undefined) {
    const until = await countWrong(context, { user, address, name: user });
    const hint = until === undefined ? "use your password and a code" : wrongHint(until);
    throw new PlatformError("denied", "could not confirm with this passkey", { hint });
  }
  try {
    await useUp(context, { user, address }, shown.used({}));
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "unauthenticated") throw thrown;
    throw new PlatformError("denied", "the passkey was used or changed meanwhile", { cause: thrown, hint: "try again" });
  }
  return shown.device;
}
