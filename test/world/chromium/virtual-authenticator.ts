import type { CDPSession, Page } from "playwright-core";

type Credential = Awaited<ReturnType<typeof credentialsOf>>[number];

/** A device that keeps passkeys. */
export interface VirtualAuthenticator {
  /** Its passkeys, as Chromium describes them. */
  credentials(): Promise<readonly Credential[]>;
  /** Keeps a passkey, again or from elsewhere. */
  keep(credential: Credential): Promise<void>;
  /** Whether its user can be verified; otherwise it refuses. */
  verify(isVerified: boolean): Promise<void>;
  /** Whether its user is at hand; otherwise a question for a passkey waits. */
  attend(isAtHand: boolean): Promise<void>;
}

/** Gives a page a device whose user is at hand and verified at first; it stays with the page at whatever site. */
export async function addAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  const options = { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true } as const;
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", { options: { ...options, automaticPresenceSimulation: true } });
  return {
    credentials: async () => await credentialsOf(devtools, authenticatorId),
    keep: async (credential) => void (await devtools.send("WebAuthn.addCredential", { authenticatorId, credential })),
    verify: async (isVerified) => void (await devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: isVerified })),
    attend: async (isAtHand) => void (await devtools.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled: isAtHand })),
  };
}

async function credentialsOf(devtools: CDPSession, authenticatorId: string) {
  return (await devtools.send("WebAuthn.getCredentials", { authenticatorId })).credentials;
}
