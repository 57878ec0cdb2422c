import { generateKeyPairSync } from "node:crypto";
import { z } from "zod";
import { passkeyAlgorithms } from "../../../core/api/web/passkeys.ts";
import { originOf, type PasskeySite } from "./challenges.ts";

/* The only file that knows the library of WebAuthn. It is loaded when a passkey is first made or used. */

/** What a browser answers to a challenge for an assertion. */
export interface Assertion {
  readonly credentialId: Buffer;
  /** JSON: the challenge, the origin. */
  readonly clientData: Buffer;
  readonly authenticatorData: Buffer;
  readonly signature: Buffer;
  readonly userHandle: Buffer;
}

/** What a browser answers to a challenge for a new passkey. */
export interface Attestation {
  readonly clientData: Buffer;
  /** CBOR. */
  readonly attestationObject: Buffer;
  readonly transports: readonly string[];
}

export interface NewCredential {
  readonly credentialId: string;
  readonly publicKey: string;
  readonly counter: number;
  readonly aaguid: string;
  readonly isSynced: boolean;
}

const maxId = 1023;
const maxPart = 4096;
const maxAttestation = 8192;

const clientDataSchema = z.object({ challenge: z.string(), crossOrigin: z.boolean().optional() });

/** The challenge that an authenticator's answer states; empty: none can be read, or the page was part of another site's. */
export function statedChallenge(clientData: Buffer): Buffer {
  const parsed = clientData.length > maxPart ? undefined : parse(clientData);
  const { challenge, crossOrigin } = clientDataSchema.safeParse(parsed).data ?? {};
  if (crossOrigin === true) return Buffer.alloc(0);
  return typeof challenge === "string" && /^[A-Za-z0-9_-]{1,128}$/.test(challenge) ? Buffer.from(challenge, "base64url") : Buffer.alloc(0);
}

/**
 * The new credential of an attestation for this challenge, made by a page of this very site after the authenticator had verified its user. Undefined for any
 * other one. No certificate of a manufacturer is accepted: none was asked for, and checking it would send requests to addresses that it names.
 */
export async function newCredentialOf(sent: Attestation, challenge: Buffer, site: PasskeySite): Promise<NewCredential | undefined> {
  if (sent.clientData.length > maxPart || sent.attestationObject.length > maxAttestation) return undefined;
  const [{ verifyRegistrationResponse }, { decodeAttestationObject }] = await Promise.all([
    import("@simplewebauthn/server"),
    import("@simplewebauthn/server/helpers"),
  ]);
  return await orUndefined(async () => {
    const decoded = decodeAttestationObject(new Uint8Array(sent.attestationObject));
    const format: string = decoded.get("fmt");
    if (format !== "none" && !(format === "packed" && decoded.get("attStmt").get("x5c") === undefined)) return undefined;
    // The library reads the id from the authenticator's data; this one is only compared in form.
    const id = "AA";
    const { registrationInfo: found } = await verifyRegistrationResponse({
      response: {
        id,
        rawId: id,
        type: "public-key",
        clientExtensionResults: {},
        response: { clientDataJSON: base64url(sent.clientData), attestationObject: base64url(sent.attestationObject) },
      },
      expectedChallenge: base64url(challenge),
      expectedOrigin: originOf(site),
      expectedRPID: site.host,
      requireUserVerification: true,
      supportedAlgorithmIDs: [...passkeyAlgorithms],
    });
    if (found === undefined) return undefined;
    const { credential, aaguid, credentialDeviceType } = found;
    if (Buffer.from(credential.id, "base64url").length > maxId || credential.publicKey.length > maxPart) return undefined;
    return {
      credentialId: credential.id,
      publicKey: base64url(Buffer.from(credential.publicKey)),
      counter: credential.counter,
      aaguid,
      isSynced: credentialDeviceType === "multiDevice",
    };
  });
}

export interface Expected {
  readonly challenge: Buffer;
  readonly site: PasskeySite;
  readonly credentialId: string;
  readonly publicKey: string;
}

/**
 * The authenticator's count of uses in an assertion for this challenge, made by a page of this very site with this key after the authenticator had verified its
 * user. Undefined for any other one.
 */
export async function countOf(sent: Assertion, { challenge, site, credentialId, publicKey }: Expected): Promise<number | undefined> {
  if (!isSized(sent)) return undefined;
  const { verifyAuthenticationResponse } = await import("@simplewebauthn/server");
  return await orUndefined(async () => {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: {
        id: credentialId,
        rawId: credentialId,
        type: "public-key",
        clientExtensionResults: {},
        response: {
          clientDataJSON: base64url(sent.clientData),
          authenticatorData: base64url(sent.authenticatorData),
          signature: base64url(sent.signature),
        },
      },
      expectedChallenge: base64url(challenge),
      expectedOrigin: originOf(site),
      expectedRPID: site.host,
      requireUserVerification: true,
      // The count is compared by us, so that one that goes back is known for what it is.
      credential: { id: credentialId, publicKey: new Uint8Array(Buffer.from(publicKey, "base64url")), counter: 0 },
    });
    return verified ? authenticationInfo.newCounter : undefined;
  });
}

let decoy: string | undefined;

/** A public key that nobody has the private key of, in place of an unknown one, so that both cost the same. */
export function decoyKey(): string {
  decoy ??= newDecoy();
  return decoy;
}

/** A COSE key of P-256: the map {1: 2, 3: -7, -1: 1, -2: x, -3: y}. */
function newDecoy(): string {
  const { x = "", y = "" } = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
  const part = (text: string): Buffer => Buffer.concat([Buffer.from("5820", "hex"), Buffer.from(text, "base64url")]);
  return Buffer.concat([Buffer.from("a5010203262001", "hex"), Buffer.from("21", "hex"), part(x), Buffer.from("22", "hex"), part(y)]).toString(
    "base64url",
  );
}

function isSized({ credentialId, clientData, authenticatorData, signature, userHandle }: Assertion): boolean {
  return (
    Math.max(credentialId.length, userHandle.length) <= maxId && Math.max(clientData.length, authenticatorData.length, signature.length) <= maxPart
  );
}

const transportNames: readonly string[] = ["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"];

/** The ways to an authenticator that browsers know. */
export function knownTransports(transports: readonly string[]): readonly string[] {
  return transportNames.filter((name) => transports.includes(name));
}

/** The library throws for everything that is wrong, and for bytes that it cannot read. */
async function orUndefined<T>(work: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await work();
  } catch {
    return undefined;
  }
}

function parse(clientData: Buffer): unknown {
  try {
    return JSON.parse(clientData.toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}
