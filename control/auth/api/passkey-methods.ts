import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PasskeyChallengeSchema, PasskeyProof, PasskeySite as SiteMessage } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { addPasskey, startPasskey } from "../passkeys/add-passkey.ts";
import { newChallenge, type PasskeySite } from "../passkeys/challenges.ts";
import type { OfferedChallenge } from "../passkeys/confirm-by-passkey.ts";
import { removePasskey, startRemoval } from "../passkeys/remove-passkey.ts";
import { idOf, readPasskeys } from "../passkeys/stored-passkeys.ts";
import type { PasskeyAnswer } from "../passkeys/use-assertion.ts";
import { type Caller, inBrowser } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";

type PasskeyMethods = "startPasskeyLogin" | "startPasskey" | "addPasskey" | "listPasskeys" | "startPasskeyRemoval" | "removePasskey";

/** Passkeys: the challenge of a login, and the caller's own ones. */
export function passkeyMethods({ context, rateLimit }: Api): Handlers<PasskeyMethods> {
  const asked = (caller: Caller) => {
    const { address } = caller;
    rateLimit.take(address, context.now());
    return { ...ownerOf(caller), address };
  };
  return {
    startPasskeyLogin: async ({ site, browser }, { address }) => {
      rateLimit.take(address, context.now());
      requireSecret(browser);
      return { challenge: await newChallenge(context, { purpose: { scope: "login" }, site: siteOf(site), browser }) };
    },
    startPasskey: async ({ site, name, password, code }, caller) => {
      const { handle, ...offered } = await startPasskey(context, { ...asked(caller), site: siteOf(site), name, password, code });
      return { challenge: challengeMessage(offered), userHandle: Buffer.from(handle, "hex") };
    },
    addPasskey: async ({ site, name, clientData, attestationObject, userHandle, transports }, caller) => {
      const attestation = { clientData: Buffer.from(clientData), attestationObject: Buffer.from(attestationObject), transports };
      const handle = Buffer.from(userHandle).toString("hex");
      await addPasskey(context, { ...asked(caller), site: siteOf(site), name, handle, attestation });
      return {};
    },
    listPasskeys: async (_request, caller) => {
      const { user, userId } = ownerOf(caller);
      const passkeys = (await readPasskeys(context.storage, user, userId))?.passkeys ?? [];
      return {
        passkeys: passkeys.map((one) => ({ id: idOf(one), name: one.name, host: one.rp_id, created: one.created, lastUsed: one.last_used ?? "" })),
      };
    },
    startPasskeyRemoval: async ({ site, id }, caller) => challengeMessage(await startRemoval(context, { ...asked(caller), id, site: siteOf(site) })),
    removePasskey: async ({ id, password, code, passkey }, caller) => {
      const proof = passkey === undefined ? { password, code } : { answer: passkeyAnswer(passkey) };
      return { ended: await removePasskey(context, { ...asked(caller), id }, proof) };
    },
  };
}

/** An answer of an authenticator, with the site at which the proxy says that it was made. */
export function passkeyAnswer({ assertion, site, browser }: PasskeyProof): PasskeyAnswer {
  if (assertion === undefined) throw new PlatformError("invalid", "the answer of the passkey is missing");
  const { credentialId, clientData, authenticatorData, signature, userHandle } = assertion;
  return {
    assertion: {
      credentialId: Buffer.from(credentialId),
      clientData: Buffer.from(clientData),
      authenticatorData: Buffer.from(authenticatorData),
      signature: Buffer.from(signature),
      userHandle: Buffer.from(userHandle),
    },
    site: siteOf(site),
    browser,
  };
}

function ownerOf(caller: Caller) {
  const { identity, session } = inBrowser(caller);
  return { user: identity.name, userId: identity.userId, sessionId: session.id };
}

function siteOf(site: SiteMessage | undefined): PasskeySite {
  return { host: site?.host ?? "", port: site?.port ?? 0 };
}

function challengeMessage({ challenge, passkeys }: OfferedChallenge): MessageInitShape<typeof PasskeyChallengeSchema> {
  const credentials = passkeys.map((one) => ({ id: Buffer.from(one.credential_id, "base64url"), transports: [...one.transports] }));
  return { challenge, credentials };
}

/** A challenge that any browser could answer would be good in a page that somebody else has led the user to. */
function requireSecret(browser: string): void {
  if (!/^[A-Za-z0-9_-]{43}$/.test(browser)) throw new PlatformError("invalid", "the secret of the browser is missing");
}
