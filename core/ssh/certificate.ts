import { type KeyObject, randomBytes } from "node:crypto";
import { Reader } from "../bytes/reader.ts";
import { string, u32, u64 } from "../bytes/writer.ts";
import { PlatformError } from "../errors/platform-error.ts";
import type { SshCertificateFields } from "../identity/identity.ts";
import { readOptions, readPrincipals, writeOptions, writePrincipals } from "./certificate-lists.ts";
import { blobLine, lineBlob, parsePublicBlob, publicBlob, publicFields, readPublicFields } from "./keys.ts";
import { signBlob, verifyBlob } from "./signature.ts";
import { matchesSource } from "./source-address.ts";

/** Ends the type of every certificate: `ssh-ed25519-cert-v01@openssh.com`. */
export const certificateSuffix = "-cert-v01@openssh.com";

/** `rsa-sha2-512-cert-v01@openssh.com` signs as `rsa-sha2-512`. */
export function plainAlgorithm(algorithm: string): string {
  return algorithm.endsWith(certificateSuffix) ? algorithm.slice(0, -certificateSuffix.length) : algorithm;
}

/** A parsed certificate. Do not trust anything in it before `checkCertificate`. */
export interface SshCertificate extends SshCertificateFields {
  /** The certified public key. */
  readonly key: KeyObject;
  /** Type of that key: `ssh-ed25519`. */
  readonly keyType: string;
  readonly serial: bigint;
  readonly validAfter: Date;
  /** `forever` for a certificate that does not expire. */
  readonly validBefore: Date;
  readonly criticalOptions: ReadonlyMap<string, string>;
  /** The issuer's public blob. */
  readonly authority: Buffer;
  readonly signature: Buffer;
  /** The bytes that `signature` covers. */
  readonly signed: Buffer;
  /** All of it, as SSH sends it. */
  readonly blob: Buffer;
}

/** The latest time that a Date can hold: stands for 2^64-1, "never". */
export const forever = new Date(8_640_000_000_000_000);
const noEnd = 0xffff_ffff_ffff_ffffn;

/** Maximum size, bytes: larger ones do not fit into an SSH packet of this program. */
const mostBytes = 32_768;

/**
 * Decodes a certificate. Throws PlatformError `invalid` or `unsupported` for anything else.
 *
 *   string type | string nonce | public fields | u64 serial | u32 kind 1=user 2=host | string key id | string( string principal … )
 *   u64 valid after | u64 valid before (seconds) | string critical( string name, string data … ) | string extensions( … )
 *   string reserved | string authority's public blob | string signature over all before it
 *
 * Source: OpenSSH PROTOCOL.certkeys.
 */
export function parseCertificate(blob: Buffer): SshCertificate {
  if (blob.length > mostBytes) throw new PlatformError("invalid", `SSH certificate of ${blob.length} bytes; at most ${mostBytes} are read`);
  const reader = new Reader(blob);
  const type = reader.text();
  if (!type.endsWith(certificateSuffix)) throw new PlatformError("invalid", "an SSH certificate is required, not a plain key");
  const keyType = type.slice(0, -certificateSuffix.length);
  reader.string();
  const key = readPublicFields(keyType, reader);
  const serial = reader.u64();
  const kind = readKind(reader.u32());
  const keyId = reader.text();
  const principals = readPrincipals(reader.string());
  const validAfter = toDate(reader.u64());
  const validBefore = toDate(reader.u64());
  const criticalOptions = readOptions(reader.string());
  const extensions = readOptions(reader.string());
  reader.string();
  const authority = reader.string();
  const signed = blob.subarray(0, reader.position);
  const signature = reader.string();
  reader.end("SSH certificate");
  // `type` of the issuer's fields is "user" | "host"; the key's own type is `keyType`.
  return {
    type: kind,
    key,
    keyType,
    serial,
    keyId,
    principals,
    validAfter,
    validBefore,
    criticalOptions,
    extensions,
    authority,
    signature,
    signed,
    blob,
  };
}

export interface SignCertificateOptions {
  /** From `toSshCertificate` of core/identity. */
  readonly fields: SshCertificateFields;
  /** The key to certify; its private half is not needed. */
  readonly key: KeyObject;
  /** The issuer's private key. */
  readonly authority: KeyObject;
  readonly validAfter: Date;
  readonly serial?: bigint;
  readonly criticalOptions?: ReadonlyMap<string, string>;
  /** 32 random bytes; generated if omitted. */
  readonly nonce?: Buffer;
}

/** Issues a certificate and returns its blob. */
export function signCertificate(options: SignCertificateOptions): Buffer {
  const { fields, authority } = options;
  const { type, fields: keyFields } = publicFields(options.key);
  const signed = Buffer.concat([
    string(`${type}${certificateSuffix}`),
    string(options.nonce ?? randomBytes(32)),
    keyFields,
    u64(options.serial ?? 0n),
    u32(fields.type === "user" ? 1 : 2),
    string(fields.keyId),
    string(writePrincipals(fields.principals)),
    u64(fromDate(options.validAfter)),
    u64(fromDate(fields.validBefore)),
    string(writeOptions(options.criticalOptions ?? fields.criticalOptions ?? new Map())),
    string(writeOptions(fields.extensions)),
    string(""),
    string(publicBlob(authority)),
  ]);
  return Buffer.concat([signed, string(signBlob(authority, signed))]);
}

/** The line of a `-cert.pub` file, without a newline. */
export function certificateLine(blob: Buffer): string {
  return blobLine(blob, "");
}

/** The blob in the line of a `-cert.pub` file, parsed. */
export function parseCertificateLine(line: string): SshCertificate {
  return parseCertificate(lineBlob(line));
}

function readKind(kind: number): "user" | "host" {
  if (kind === 1) return "user";
  if (kind === 2) return "host";
  throw new PlatformError("invalid", `SSH certificate of unknown kind ${kind}`);
}

function toDate(seconds: bigint): Date {
  return seconds * 1000n >= BigInt(forever.getTime()) ? forever : new Date(Number(seconds * 1000n));
}

function fromDate(date: Date): bigint {
  const time = date.getTime();
  if (Number.isNaN(time) || time < 0) throw new PlatformError("invalid", "an SSH certificate cannot be valid before 1970");
  return time >= forever.getTime() ? noEnd : BigInt(Math.floor(time / 1000));
}

export interface CheckCertificateOptions {
  readonly type: "user" | "host";
  /** Public lines of the authorities that may have signed it. */
  readonly authorities: readonly string[];
  /** A login or a host name that the certificate must list. */
  readonly principal?: string;
  readonly now: Date;
  /** IP address of the peer, for comparison with a `source-address` option. Without it, such a certificate is refused. */
  readonly clientAddress?: string;
}

/**
 * Checks everything about a certificate except that the peer holds its key, which the handshake proves.
 * Throws PlatformError `unauthenticated` with a sentence that names the failed check.
 */
export function checkCertificate(certificate: SshCertificate, options: CheckCertificateOptions): void {
  const refusal = refuse(certificate, options);
  if (refusal !== undefined) throw new PlatformError("unauthenticated", refusal.reason, { hint: refusal.hint });
}

interface Refusal {
  readonly reason: string;
  readonly hint?: string;
}

function refuse(certificate: SshCertificate, options: CheckCertificateOptions): Refusal | undefined {
  const { now, principal } = options;
  const name = `the ${certificate.type} certificate ${JSON.stringify(certificate.keyId.slice(0, 128))}`;
  if (certificate.type !== options.type) return { reason: `${name} is of the wrong kind: a ${options.type} certificate is required` };
  const authority = options.authorities.map(lineBlob).find((blob) => blob.equals(certificate.authority));
  if (authority === undefined) return { reason: `${name} is signed by an unknown authority` };
  if (!verifyBlob({ key: parsePublicBlob(authority).key, data: certificate.signed, signature: certificate.signature })) {
    return { reason: `${name} has a bad signature` };
  }
  if (now < certificate.validAfter) {
    return { reason: `${name} is not valid before ${certificate.validAfter.toISOString()}`, hint: "check the clocks of both machines" };
  }
  if (now >= certificate.validBefore) return { reason: `${name} expired at ${certificate.validBefore.toISOString()}` };
  for (const [option, value] of certificate.criticalOptions) {
    const reason = refuseOption(option, value, options.clientAddress);
    if (reason !== undefined) return { reason: `${name} ${reason}` };
  }
  if (principal !== undefined && !lists(certificate, principal)) {
    return { reason: `${name} does not list ${JSON.stringify(principal.slice(0, 128))}` };
  }
  return undefined;
}

/** Host names are case-insensitive, logins are not. */
function lists({ type, principals }: SshCertificate, principal: string): boolean {
  if (type === "user") return principals.includes(principal);
  const wanted = principal.toLowerCase();
  return principals.some((name) => name.toLowerCase() === wanted);
}

/** A certificate with an option that is not enforced here is refused: that is the meaning of "critical". */
function refuseOption(option: string, value: string, clientAddress: string | undefined): string | undefined {
  if (option !== "source-address") return `has the unknown critical option ${JSON.stringify(option.slice(0, 128))}`;
  if (clientAddress === undefined) return "is bound to source addresses, and the client's is not known here";
  return matchesSource(value, clientAddress) ? undefined : `may not be used from ${clientAddress}`;
}
