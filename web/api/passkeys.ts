import type { AssertionOptions, CreationOptions } from "../../core/api/web/passkeys.ts";
import { CallError, call } from "./request.ts";
import { type BrowserSession, begin } from "./session.ts";

/** Whether this browser knows passkeys, and their JSON. */
export function hasPasskeyApi(): boolean {
  return typeof PublicKeyCredential === "function" && typeof PublicKeyCredential.parseRequestOptionsFromJSON === "function";
}

/** Logs in with a passkey. `user`: the only one who may; left out: any. `gone` takes the browser's question away. Throws CallError. */
export async function logInWithPasskey({ user, gone }: { readonly user?: string | undefined; readonly gone: AbortSignal }): Promise<void> {
  const options = await call<AssertionOptions>("/passkey-logins", { method: "POST", body: {} });
  const passkey = await assertion(options, gone);
  const { token } = await call<BrowserSession>("/sessions", { method: "POST", body: { passkey, ...(user !== undefined && { user }) } });
  await begin(token);
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
  return await asked(() => navigator.credentials.create({ publicKey, signal: gone }), { gone, without });
}

/** Makes what the browser has made a passkey of the user. Throws CallError. */
export async function addPasskey({ name, options }: StartedPasskey, made: PublicKeyCredential): Promise<void> {
  await call("/passkeys", { method: "POST", body: { name, user_handle: options.user.id, passkey: made.toJSON() } });
}

export interface PasskeyRemoval {
  readonly id: string;
  /** Left out: a passkey answers. */
  readonly proof?: { readonly password: string; readonly code: string } | undefined;
}

/** Removes a passkey of the user, by password and code or by an answer of a passkey. `gone` takes the browser's question away. Throws CallError. */
export async function removePasskey({ id, proof }: PasskeyRemoval, gone: AbortSignal): Promise<void> {
  const path = `/passkeys/${encodeURIComponent(id)}`;
  const body = proof ?? { passkey: await assertion(await call<AssertionOptions>(`${path}/challenge`, { method: "POST", body: {} }), gone) };
  await call(`${path}/removal`, { method: "POST", body });
}

async function assertion(options: AssertionOptions, gone: AbortSignal): Promise<object> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const without = new CallError("denied", "no passkey was used", "try again, or use your password and a code");
  return (await asked(() => navigator.credentials.get({ publicKey, signal: gone }), { gone, without })).toJSON() as object;
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
