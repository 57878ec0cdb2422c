import type { AssertionOptions } from "../../core/api/web/passkeys.ts";

/** Whether this browser takes the news that a passkey counts no longer. */
export function canForgetPasskeys(): boolean {
  return typeof PublicKeyCredential === "function" && typeof PublicKeyCredential.signalUnknownCredential === "function";
}

/** Tells the browser that a passkey counts no longer, so that it stops offering it. Nothing depends on it: browsers may not know how, and devices may not do it. */
export function forgetPasskey(rpId: string, credentialId: string): void {
  if (!canForgetPasskeys()) return;
  PublicKeyCredential.signalUnknownCredential({ rpId, credentialId }).catch(() => undefined);
}

/** Which of the credentials is the passkey with this id in lists: that is the beginning of a digest of the credential's. Undefined: none. */
export async function credentialOf(id: string, { allowCredentials }: Pick<AssertionOptions, "allowCredentials">): Promise<string | undefined> {
  for (const { id: credentialId } of allowCredentials) {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(credentialId)));
    const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    if (id !== "" && hex.startsWith(id)) return credentialId;
  }
  return undefined;
}
