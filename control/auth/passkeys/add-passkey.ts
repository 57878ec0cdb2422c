import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Write } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import { proveAgain } from "../browser-sessions/prove-again.ts";
import { readSession } from "../browser-sessions/stored-session.ts";
import { byPassword, type LoginProof } from "../login/login.ts";
import { credentialWrite, readCredential } from "../users/credentials.ts";
import { challengeUse, newChallenge, type PasskeySite } from "./challenges.ts";
import type { OfferedChallenge } from "./confirm-by-passkey.ts";
import { deviceName, firstPasskeyWrites, newHandle, passkeysWrite, readPasskeys, type StoredPasskeys } from "./stored-passkeys.ts";
import { type Attestation, knownTransports, newCredentialOf, statedChallenge } from "./webauthn.ts";

const maxPasskeys = 10;

/** Where a user adds a passkey, and how it is to be called. */
export interface NewPasskey {
  readonly user: string;
  readonly userId: string | undefined;
  readonly sessionId: string;
  readonly address: string;
  readonly site: PasskeySite;
  readonly name: string;
}

/**
 * A challenge for a new passkey, for the password and a one-time code, with the throttle of every login: a stolen session is not enough. `passkeys`: those that the
 * user has at this site, of which no authenticator makes another one. Throws `denied` for a wrong password or code, `limit` after too many or for an eleventh
 * passkey, `already_exists` for a name that is in use, and `invalid`.
 */
export async function startPasskey(
  context: AuthContext,
  ask: NewPasskey & Pick<LoginProof, "password" | "code">,
): Promise<OfferedChallenge & { readonly handle: string }> {
  const { user, userId, sessionId, site, name } = ask;
  const device = deviceName({ name });
  requireName(name);
  const way = { user, address: ask.address, proof: byPassword(context, ask), event: "mfa.add_start", device } as const;
  const { had, started } = await proveAgain(context, way, async () => {
    const before = await readPasskeys(context.storage, user, userId);
    const handle = before?.handle ?? newHandle();
    const challenge = await newChallenge(context, { purpose: { scope: "add", user, name, handle }, site, browser: sessionId });
    const passkeys = (before?.passkeys ?? []).filter((one) => one.rp_id === site.host);
    return { result: { had: before, started: { challenge, passkeys, handle } }, writes: [] };
  });
  // Once the code is spent: this refusal says that password and code were right.
  requireRoom(had, name);
  return started;
}

/** Adds the passkey that the same session has started, by the answer of its authenticator. Throws `denied`, and as `startPasskey`; recorded. */
export async function addPasskey(
  context: AuthContext,
  ask: NewPasskey & { readonly handle: string; readonly attestation: Attestation },
): Promise<void> {
  const { user, name, address } = ask;
  requireName(name);
  const event = { event: "mfa.add", user, mfa_device: deviceName({ name }), "addr.remote": address } as const;
  try {
    await context.queues(`login ${user}`, () => add(context, ask));
    context.audit.emit({ ...event, success: true });
  } catch (thrown) {
    context.audit.emitRefusal({ ...event, success: false, error: thrown instanceof PlatformError ? thrown.message : "internal error" });
    throw thrown;
  }
}

async function add(context: AuthContext, ask: Parameters<typeof addPasskey>[1]): Promise<void> {
  const { storage } = context;
  const { user, userId, sessionId, site, name, handle, attestation } = ask;
  const challenge = statedChallenge(attestation.clientData);
  const use = await challengeUse(context, challenge, { purpose: { scope: "add", user, name, handle }, site, browser: sessionId });
  if (use === undefined) throw notStarted();
  // In this order: a reset in between ends the session, or changes the credential.
  const stored = await readCredential(storage, user);
  if (stored?.credential.password === undefined || (await readSession(storage, sessionId)) === undefined) throw notStarted();
  const made = await newCredentialOf(attestation, challenge, site);
  if (made === undefined) {
    throw new PlatformError("denied", "the new passkey was refused: its answer is not right for this page", {
      hint: "try again with another authenticator; it has to verify you by a PIN, a fingerprint or a face",
    });
  }
  const before = await readPasskeys(storage, user, userId);
  // Started before the first passkey, which has another handle: the authenticator would answer with one that is nobody's.
  if (before !== undefined && before.handle !== handle) throw notStarted();
  requireRoom(before, name);
  if (before?.passkeys.some((one) => one.credential_id === made.credentialId) === true)
    throw new PlatformError("already_exists", "this authenticator has a passkey of yours already");
  const passkey = {
    credential_id: made.credentialId,
    name,
    rp_id: site.host,
    public_key: made.publicKey,
    counter: made.counter,
    transports: [...knownTransports(attestation.transports)],
    aaguid: made.aaguid,
    is_synced: made.isSynced,
    created: context.now().toISOString(),
  };
  const passkeys = { ...(userId !== undefined && { user_id: userId }), handle, passkeys: [...(before?.passkeys ?? []), passkey] };
  const writes = before === undefined ? await firstPasskeyWrites(storage, user, passkeys) : [passkeysWrite(user, passkeys, before)];
  await write(context, [use, credentialWrite(user, stored.credential, stored), ...writes]);
}

async function write({ storage }: Pick<AuthContext, "storage">, writes: readonly Write[]): Promise<void> {
  try {
    await storage.batch(writes);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || (thrown.code !== "conflict" && thrown.code !== "already_exists")) throw thrown;
    throw new PlatformError("conflict", "your password, authenticator or passkeys were changed or used meanwhile", {
      cause: thrown,
      hint: "try again",
    });
  }
}

function notStarted(): PlatformError {
  return new PlatformError("denied", "the new passkey has expired or was not set up", { hint: "start again: it has to be made within five minutes" });
}

/** Throws `invalid` unless it is a name of 1 to 64 visible characters. */
function requireName(name: string): void {
  if (name.trim() === name && /^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u.test(name)) return;
  throw new PlatformError("invalid", "the name of a passkey has 1 to 64 characters");
}

function requireRoom(before: StoredPasskeys | undefined, name: string): void {
  const passkeys = before?.passkeys ?? [];
  if (passkeys.length >= maxPasskeys)
    throw new PlatformError("limit", `you have ${maxPasskeys} passkeys, and no user may have more`, { hint: "remove one that you do not use" });
  if (passkeys.some((one) => one.name === name))
    throw new PlatformError("already_exists", `you have a passkey named ${JSON.stringify(name)} already`, { hint: "choose another name" });
}
