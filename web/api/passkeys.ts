import type { AssertionOptions, CreationOptions } from "../../core/api/web/passkeys.ts";
import { CallError, call } from "./request.ts";
import { type BrowserSession, begin } from "./session.ts";

/** Whether this browser knows passkeys, and their JSON. */
export function hasPasskeyApi(): boolean {
  return typeof PublicKeyCredential === "function" && typeof PublicKeyCredential.parseRequestOptionsFromJSON === "function";
}

/** Logs in with a passkey. `user`: the only one who may; left out: any. Throws CallError. */
export async function logInWithPasskey(user?: string): Promise<void> {
  const options = await call<AssertionOptions>("/passkey-logins", { method: "POST", body: {} });
  const passkey = await assertion(options);
  const { token } = await call<BrowserSession>("/sessions", { method: "POST", body: { passkey, ...(user !== undefined && { user }) } });
  await begin(token);
}

export interface NewPasskey {
  readonly name: string;
  readonly password: string;
  readonly code: string;
}

/** Makes a passkey of the user, for password and code. Throws CallError. */
export async function addPasskey({ name, password, code }: NewPasskey): Promise<void> {
  const options = await call<CreationOptions>("/passkeys/challenge", { method: "POST", body: { name, password, code } });
  const made = await asked(() => navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }));
  await call("/passkeys", { method: "POST", body: { name, user_handle: options.user.id, passkey: made.toJSON() } });
}

/** Removes a passkey of the user, by password and code or, without them, by an answer of a passkey. Throws CallError. */
export async function removePasskey(id: string, proof?: { readonly password: string; readonly code: string }): Promise<void> {
  const path = `/passkeys/${encodeURIComponent(id)}`;
  const body = proof ?? { passkey: await assertion(await call<AssertionOptions>(`${path}/challenge`, { method: "POST", body: {} })) };
  await call(`${path}/removal`, { method: "POST", body });
}

async function assertion(options: AssertionOptions): Promise<object> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return (await asked(() => navigator.credentials.get({ publicKey }))).toJSON() as object;
}

/** What the browser answers. Throws CallError in place of its errors, whose texts are for programmers. */
async function asked(ask: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  try {
    const credential = await ask();
    if (credential instanceof PublicKeyCredential) return credential;
  } catch (thrown) {
    const name = thrown instanceof DOMException ? thrown.name : "";
    if (name === "InvalidStateError") throw new CallError("already_exists", "this device has a passkey of yours already");
    if (name === "SecurityError") throw new CallError("unsupported", "the browser refuses passkeys at this address");
    if (name !== "NotAllowedError" && name !== "AbortError") throw new CallError("internal", "the browser could not use a passkey", "try again");
  }
  throw new CallError("denied", "no passkey was used", "try again, or use your password and a code");
}
