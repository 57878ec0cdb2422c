import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Write } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import type { Claimed, Shown } from "../login/login.ts";
import { wrongHint } from "../login/login.ts";
import { type ChallengePurpose, challengeUse, type PasskeySite } from "./challenges.ts";
import { deviceName, passkeysWrite, readPasskeys, type StoredPasskey, type StoredPasskeys } from "./stored-passkeys.ts";
import { type Assertion, countOf, decoyKey, statedChallenge } from "./webauthn.ts";

/** What a browser answers to a challenge, and where it is. */
export interface PasskeyAnswer {
  readonly assertion: Assertion;
  readonly site: PasskeySite;
  /** As in the challenge's facts. */
  readonly browser: string;
}

interface AssertionAsk {
  readonly answer: PasskeyAnswer;
  readonly purpose: ChallengePurpose;
}

/**
 * What the assertion of a passkey of this user, for this purpose, uses up. Undefined for a wrong one, and for a user who does not exist or has been reset, after
 * the same work. Throws `denied` for a challenge that has expired, was used, or was made for another purpose, browser or site: the same for every user.
 */
export async function useAssertion(
  context: AuthContext,
  claimed: Claimed,
  { answer, purpose }: AssertionAsk,
): Promise<(Shown & { readonly device: string }) | undefined> {
  const { assertion, site, browser } = answer;
  const challenge = statedChallenge(assertion.clientData);
  const use = await challengeUse(context, challenge, { purpose, site, browser });
  if (use === undefined) throw lateError();
  const { user, userId, stored } = claimed;
  const before = await readPasskeys(context.storage, user, userId);
  const credentialId = assertion.credentialId.toString("base64url");
  const passkey = before?.passkeys.find((one) => one.credential_id === credentialId && one.rp_id === site.host);
  const count = await countOf(assertion, { challenge, site, credentialId, publicKey: passkey?.public_key ?? decoyKey() });
  if (before === undefined || passkey === undefined || count === undefined || stored?.credential.password === undefined) return undefined;
  if (isPossibleCopy({ stored: passkey.counter, sent: count })) {
    const counts = { stored_count: passkey.counter, sent_count: count };
    context.audit.emitRefusal({ event: "mfa.possible_copy", user, mfa_device: deviceName(passkey), ...counts, "addr.remote": claimed.address });
    return undefined;
  }
  const used = usedPasskey(passkey, { count, now: context.now() });
  const writes: readonly Write[] = [use, passkeysWrite(user, withChanged(before, used), before)];
  return { device: deviceName(passkey), used: () => writes };
}

/** The answer to a wrong assertion in a login. */
export function wrongPasskey(locked: Date | undefined): PlatformError {
  const hint = locked === undefined ? "log in with password and code; your account lists the passkeys that count" : wrongHint(locked);
  return new PlatformError("unauthenticated", "could not log in with this passkey", { hint });
}

function lateError(): PlatformError {
  return new PlatformError("denied", "the answer of the passkey came too late or a second time, or belongs to another page or browser", {
    hint: "try again",
  });
}

/** Whether an authenticator's count of its uses has not gone up. Authenticators that do not count, as those of synced passkeys, always send 0. Pure. */
export function isPossibleCopy({ stored, sent }: { readonly stored: number; readonly sent: number }): boolean {
  return (stored > 0 || sent > 0) && sent <= stored;
}

function usedPasskey(passkey: StoredPasskey, { count, now }: { readonly count: number; readonly now: Date }): StoredPasskey {
  return { ...passkey, counter: count, last_used: now.toISOString() };
}

function withChanged(before: StoredPasskeys, changed: StoredPasskey): StoredPasskeys {
  return { ...before, passkeys: before.passkeys.map((one) => (one.credential_id === changed.credential_id ? changed : one)) };
}
