import { createHash, createPrivateKey, type KeyObject, sign, verify, X509Certificate } from "node:crypto";
import { Reader, string, u8, u32, u64 } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";

/**
 * A user's signature over one session at a database. The agent passes it on to the auth service, which signs a certificate for the account only with
 * it: so an agent cannot ask for users who have not just come to it (decision 40).
 *
 *   SessionProof   u32 length of what follows (at most 2,048)
 *                  u8  mark = 0xdb           a StreamRequest begins with its version, 1 or 2
 *                  u8  version = 1
 *                  string account            as stated; empty: any that the user's roles allow
 *                  u64 time                  ms since 1970
 *                  nonce                     16 random bytes
 *                  string signature          by the key of the user's certificate, over:
 *
 *   statement      string "platform: a user's session at a database, version 1"
 *                  string cluster
 *                  string host               id of the host whose agent the stream leads to
 *                  string database
 *                  string account
 *                  string certificate        SHA-256 of the user's certificate (DER)
 *                  u64 time
 *                  nonce
 *
 * string = u32 length, UTF-8. ECDSA is with SHA-256 and in DER, RSA with SHA-256 and PKCS #1, Ed25519 as it is. What the same key signs for TLS begins
 * with 64 spaces (1.3) or 0x01 (1.2), never with the length of this context.
 */
export interface SessionProof {
  readonly account: string;
  readonly time: Date;
  readonly nonce: Buffer;
  readonly signature: Buffer;
}

/** A user's session at a database. */
export interface ProvenSession {
  readonly cluster: string;
  /** Id of the host whose agent the stream leads to, as in that agent's certificate. */
  readonly hostId: string;
  /** Name of the resource. */
  readonly database: string;
  /** As stated; empty: any that the user's roles allow. */
  readonly account: string;
}

/** The user's certificate and its key, PEM. */
export interface Prover {
  readonly certificate: string;
  readonly privateKey: string;
}

/** Length of a nonce, bytes. */
export const nonceLength = 16;
/** Maximum proof, without its length. */
export const maxSessionProof = 2_048;

type Place = Omit<ProvenSession, "account">;
type Unsigned = Omit<SessionProof, "signature">;

const context = "platform: a user's session at a database, version 1";
const mark = 0xdb;
const version = 1;

/** The proof with its length, to be sent before the request inside the TLS to the agent. `nonce`: 16 random bytes. Pure. */
export function proveSession(session: ProvenSession, prover: Prover, { now, nonce }: { readonly now: Date; readonly nonce: Buffer }): Buffer {
  if (nonce.length !== nonceLength) throw new Error(`a nonce has ${nonceLength} bytes`);
  const key = createPrivateKey(prover.privateKey);
  const facts = { account: session.account, time: now, nonce };
  const signature = sign(digestOf(key), statementOf(session, new X509Certificate(prover.certificate).raw, facts), key);
  const body = Buffer.concat([u8(mark), u8(version), string(session.account), u64(now.getTime()), nonce, string(signature)]);
  if (body.length > maxSessionProof) throw new PlatformError("invalid", `the database user of ${session.account.length} characters is too long`);
  return Buffer.concat([u32(body.length), body]);
}

/** The greatest time that a Date can have. */
const maxTime = 8_640_000_000_000_000n;

/** `body` is the message without its length. Throws `unsupported` for the request of a client without proofs, `invalid` for anything else. */
export function decodeSessionProof(body: Buffer): SessionProof {
  if (body.length > maxSessionProof) throw new PlatformError("invalid", `a session's proof of ${body.length} bytes; ${maxSessionProof} are allowed`);
  const reader = new Reader(body);
  if (reader.u8() !== mark) throw withoutProof();
  const found = reader.u8();
  if (found !== version) throw new PlatformError("unsupported", `a session's proof of version ${found} is not supported here`, { hint: newer });
  const account = reader.text();
  const time = reader.u64();
  const [nonce, signature] = [reader.take(nonceLength), reader.string()];
  reader.end("session's proof");
  if (time > maxTime) throw new PlatformError("invalid", "a session's proof of an impossible time");
  return { account, time: new Date(Number(time)), nonce, signature };
}

const newer = "the client may be newer than the cluster: upgrade the cluster";

/** The refusal of a session that comes without a proof. */
export function withoutProof(): PlatformError {
  return new PlatformError("unsupported", "this client does not prove that its user is there, which databases require", {
    hint: "update tsh to the version of the cluster, and connect again",
  });
}

/** Whether the key of this certificate (DER) has signed the session; `certificate` itself is not verified here. Never throws. Pure. */
export function isProven(session: Place, certificate: Buffer, proof: SessionProof): boolean {
  try {
    const { publicKey } = new X509Certificate(certificate);
    return verify(digestOf(publicKey), statementOf(session, certificate, proof), publicKey, proof.signature);
  } catch {
    return false;
  }
}

/** One name for one session: the same for every signature of it, as one key can sign a statement in several ways. Pure. */
export function proofId(session: Place, certificate: Buffer, proof: Unsigned): string {
  return createHash("sha256")
    .update(statementOf(session, certificate, proof))
    .digest("base64");
}

function statementOf(session: Place, certificate: Buffer, { account, time, nonce }: Unsigned): Buffer {
  const { cluster, hostId, database } = session;
  const fingerprint = createHash("sha256").update(certificate).digest();
  const strings = [context, cluster, hostId, database, account, fingerprint].map(string);
  return Buffer.concat([...strings, u64(time.getTime()), nonce]);
}

function digestOf({ asymmetricKeyType }: KeyObject): string | undefined {
  return asymmetricKeyType === "ed25519" ? undefined : "sha256";
}
