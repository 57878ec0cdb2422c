import type { Page } from "playwright-core";

/** A device that keeps passkeys. */
export interface VirtualAuthenticator {
  /** Its passkeys, as Chromium describes them. */
  credentials(): Promise<readonly { readonly rpId?: string; readonly isResidentCredential: boolean }[]>;
}

/** Gives a page a device whose user is always at hand and verified; it stays with the page at whatever site. */
export async function addAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  const options = { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true } as const;
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", { options: { ...options, automaticPresenceSimulation: true } });
  return { credentials: async () => (await devtools.send("WebAuthn.getCredentials", { authenticatorId })).credentials };
}
