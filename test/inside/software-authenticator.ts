import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** What a page asks an authenticator, and how this one deviates from what it should answer. */
export interface AuthenticatorAsk {
  readonly challenge: Uint8Array | string;
  readonly origin: string;
  readonly rpId: string;
  /** Left out: the next one. */
  readonly counter?: number;
  /** Whether it has verified its user; default true. */
  readonly isVerified?: boolean;
  /** Whether its user has touched it; default true. */
  readonly isPresent?: boolean;
  readonly type?: string;
  readonly crossOrigin?: boolean;
}

export interface MadeCredential {
  readonly clientData: Buffer;
  readonly attestationObject: Buffer;
  readonly transports: string[];
}

export interface SignedAssertion {
  readonly credentialId: Buffer;
  readonly clientData: Buffer;
  readonly authenticatorData: Buffer;
  readonly signature: Buffer;
  readonly userHandle: Buffer;
}

/** An authenticator with one passkey (ES256), which answers as a browser and a device would. */
export interface SoftwareAuthenticator {
  readonly credentialId: Buffer;
  userHandle: Buffer;
  make(ask: AuthenticatorAsk & { readonly userHandle?: Uint8Array; readonly attestation?: (authenticatorData: Buffer) => Buffer }): MadeCredential;
  assert(ask: AuthenticatorAsk): SignedAssertion;
}

export function softwareAuthenticator({
  counter: first = 0,
  counts = false,
}: {
  readonly counter?: number;
  readonly counts?: boolean;
} = {}): SoftwareAuthenticator {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const credentialId = randomBytes(16);
  let counter = first;
  const next = ({ counter: stated }: AuthenticatorAsk): number => {
    if (counts) counter += 1;
    return stated ?? counter;
  };
  const authenticator: SoftwareAuthenticator = {
    credentialId,
    userHandle: Buffer.alloc(0),
    make: (ask) => {
      if (ask.userHandle !== undefined) authenticator.userHandle = Buffer.from(ask.userHandle);
      const { x = "", y = "" } = publicKey.export({ format: "jwk" });
      const point = (text: string): Buffer => bytes(Buffer.from(text, "base64url"));
      const key = Buffer.concat([Buffer.from("a501020326200121", "hex"), point(x), Buffer.from("22", "hex"), point(y)]);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credentialId.length);
      const data = Buffer.concat([authenticatorData(ask, next(ask), 0x40), Buffer.alloc(16), length, credentialId, key]);
      const attestationObject = ask.attestation?.(data) ?? noAttestation(data);
      return { clientData: clientDataOf("webauthn.create", ask), attestationObject, transports: ["internal", "hybrid"] };
    },
    assert: (ask) => {
      const [clientData, data] = [clientDataOf("webauthn.get", ask), authenticatorData(ask, next(ask), 0)];
      const signature = sign("sha256", Buffer.concat([data, sha256(clientData)]), privateKey);
      return { credentialId, clientData, authenticatorData: data, signature, userHandle: authenticator.userHandle };
    },
  };
  return authenticator;
}

/** `{fmt: "none", attStmt: {}, authData}` in CBOR. */
function noAttestation(data: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from("a3", "hex"),
    text("fmt"),
    text("none"),
    text("attStmt"),
    Buffer.from("a0", "hex"),
    text("authData"),
    bytes(data),
  ]);
}

/** `{fmt: "packed", attStmt: {alg: -7, sig, x5c: [certificate]}, authData}` in CBOR. */
export function certifiedAttestation(data: Buffer, certificate: Buffer): Buffer {
  const statement = [
    text("alg"),
    Buffer.from("26", "hex"),
    text("sig"),
    bytes(randomBytes(70)),
    text("x5c"),
    Buffer.from("81", "hex"),
    bytes(certificate),
  ];
  const head = [Buffer.from("a3", "hex"), text("fmt"), text("packed"), text("attStmt"), Buffer.from("a3", "hex")];
  return Buffer.concat([...head, ...statement, text("authData"), bytes(data)]);
}

function authenticatorData({ rpId, isVerified = true, isPresent = true }: AuthenticatorAsk, counter: number, more: number): Buffer {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(counter);
  const flags = (isPresent ? 0x01 : 0) | (isVerified ? 0x04 : 0) | more;
  return Buffer.concat([sha256(Buffer.from(rpId)), Buffer.from([flags]), count]);
}

function clientDataOf(usual: string, { challenge, origin, type = usual, crossOrigin = false }: AuthenticatorAsk): Buffer {
  const text64 = typeof challenge === "string" ? challenge : Buffer.from(challenge).toString("base64url");
  return Buffer.from(JSON.stringify({ type, challenge: text64, origin, crossOrigin }));
}

function sha256(data: Buffer): Buffer {
  return createHash("sha256").update(data).digest();
}

/** CBOR of a byte string below 64 KiB. */
function bytes(data: Buffer): Buffer {
  return Buffer.concat([head(0x40, data.length), data]);
}

/** CBOR of a text below 64 KiB. */
function text(value: string): Buffer {
  return Buffer.concat([head(0x60, Buffer.byteLength(value)), Buffer.from(value)]);
}

function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([major | length]);
  return length < 256 ? Buffer.from([major | 24, length]) : Buffer.from([major | 25, length >> 8, length & 0xff]);
}
