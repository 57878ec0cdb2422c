import type { AssertionOptions, CreationOptions, Passkey } from "../../core/api/web/passkeys.ts";
import { canForgetPasskeys, credentialOf, forgetPasskey } from "./forget-passkey.ts";
import { CallError, call } from "./request.ts";
import { type BrowserSession, begin } from "./session.ts";

/** Whether this browser knows passkeys, and their JSON. */
export function hasPasskeyApi(): boolean {
  return typeof PublicKeyCredential === "function" && typeof PublicKeyCredential.parseRequestOptionsFromJSON === "function";
}

/** The user's passkeys, the oldest first. Throws CallError. */
export async function listPasskeys(signal: AbortSignal): Promise<readonly Passkey[]> {
  return (await call<{ passkeys: readonly Passkey[] }>("/passkeys", { signal })).passkeys;
}

/** Logs in with a passkey. `user`: the only one who may; left out: any. `gone` takes the browser's question away. Throws CallError. */
export async function logInWithPasskey({ user, gone }: { readonly user?: string | undefined; readonly gone: AbortSignal }): Promise<void> {
  const options = await call<AssertionOptions>("/passkey-logins", { method: "POST", body: {} });
  const passkey = await assertion(options, gone);
  const { token } = await sendLogin(passkey, user).catch((thrown: unknown) => {
    // Where only one user may log in, the passkey may be a good one of another.
    if (user === undefined && thrown instanceof CallError && thrown.code === "unauthenticated") forgetPasskey(options.rpId, passkey.id);
    throw thrown;
  });
  await begin(token);
}

async function sendLogin(passkey: PublicKeyCredential, user: string | undefined): Promise<BrowserSession> {
  return await call<BrowserSession>("/sessions", { method: "POST", body: { passkey: passkey.toJSON(), ...(user !== undefined && { user }) } });
}

export interface NewPasskey {
  readonly name: string;
  readonly password: string;
  readonly code: string;
}

/** A passkey that may be made: password and code were right. */
export interface StartedPasskey {
  readonly name: string;
  readonly options: CreationOptions;
  /** Until when it may be made, ms since 1970. */
  readonly ends: number;
}

/** Begins to make a passkey of the user, for password and code, which is spent. Throws CallError. */
export async function startPasskey(body: NewPasskey): Promise<StartedPasskey> {
  const asked = Date.now();
  const options = await call<CreationOptions>("/passkeys/challenge", { method: "POST", body });
  return { name: body.name, options, ends: asked + options.timeout };
}

/** Asks the browser for a passkey that was started; it may be asked again. `gone` takes the question away. Throws CallError. */
export async function createPasskey({ options }: StartedPasskey, gone: AbortSignal): Promise<PublicKeyCredential> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const without = new CallError("denied", "no passkey was made", "continue, and your browser asks again: it takes no new code");
  const create = async (): Promise<Credential | null> => {
    const made = await navigator.credentials.create({ publicKey, signal: gone });
    if (gone.aborted && made !== null) forgetPasskey(options.rp.id, made.id);
    return made;
  };
  return await asked(create, { gone, without });
}

/** Makes what the browser has made a passkey of the user. Throws CallError, which says what becomes of it on the device. */
export async function addPasskey({ name, options }: StartedPasskey, made: PublicKeyCredential): Promise<void> {
  const { user, rp } = options;
  try {
    await call("/passkeys", { method: "POST", body: { name, user_handle: user.id, passkey: made.toJSON() } });
  } catch (thrown) {
    if (!(thrown instanceof CallError)) throw thrown;
    const { code, message, hint } = thrown;
    const isRefused = code !== "timeout" && code !== "unavailable" && code !== "internal";
    if (isRefused) forgetPasskey(rp.id, made.id);
    const which = isRefused ? "The passkey that was made on your device is of no use" : "Unless your account lists the new passkey, it is of no use";
    const way = `${which}: remove ${user.name} at ${rp.id} from the passkeys in the settings of your device or browser`;
    throw new CallError(code, message, hint === undefined ? way : `${hint}. ${way}`);
  }
}

export interface PasskeyRemoval {
  readonly id: string;
  /** Left out: a passkey answers. */
  readonly proof?: { readonly password: string; readonly code: string } | undefined;
}

/**
 * Removes a passkey of the user, by password and code or by an answer of a passkey. Returns the number of other sessions in browsers, which end. `gone` takes the
 * browser's question away. Throws CallError.
 */
export async function removePasskey({ id, proof }: PasskeyRemoval, gone: AbortSignal): Promise<number> {
  const path = `/passkeys/${encodeURIComponent(id)}`;
  const offer = async (): Promise<AssertionOptions> => await call<AssertionOptions>(`${path}/challenge`, { method: "POST", body: {} });
  // With a password it is asked only which credential the browser may forget; there is none at an address without passkeys.
  const options = proof === undefined ? await offer() : canForgetPasskeys() ? await offer().catch(() => undefined) : undefined;
  const body = proof ?? { passkey: options && (await assertion(options, gone)).toJSON() };
  const { ended } = await call<{ ended: number }>(`${path}/removal`, { method: "POST", body });
  const removed = options && (await credentialOf(id, options).catch(() => undefined));
  if (options !== undefined && removed !== undefined) forgetPasskey(options.rpId, removed);
  return ended;
}

async function assertion(options: AssertionOptions, gone: AbortSignal): Promise<PublicKeyCredential> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const without = new CallError("denied", "no passkey was used", "try again, or use your password and a code");
  return await asked(() => navigator.credentials.get({ publicKey, signal: gone }), { gone, without });
}

interface Asking {
  readonly gone: AbortSignal;
  /** Thrown where the user does not answer. */
  readonly without: CallError;
}

/** What the browser answers. Throws CallError in place of its errors, whose texts are for programmers, and the reason of `gone` once that is aborted. */
async function asked(ask: () => Promise<Credential | null>, { gone, without }: Asking): Promise<PublicKeyCredential> {
  try {
    const credential = await ask();
    gone.throwIfAborted();
    if (credential instanceof PublicKeyCredential) return credential;
  } catch (thrown) {
    gone.throwIfAborted();
    const name = thrown instanceof DOMException ? thrown.name : "";
    if (name === "InvalidStateError") throw new CallError("already_exists", "this device has a passkey of yours already");
    if (name === "SecurityError") throw new CallError("unsupported", "the browser refuses passkeys at this address");
    if (name !== "NotAllowedError") throw new CallError("internal", "the browser could not use a passkey", "try again");
  }
  throw without;
}
