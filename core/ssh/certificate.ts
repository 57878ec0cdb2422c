import { type KeyObject, randomBytes } from "node:crypto";
import { Reader, string, u32, u64 } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";
import type { SshCertificateFields } from "../identity/ssh-identity.ts";
import { certificateSuffix } from "./algorithms.ts";
import { blobLine, lineBlob, publicBlob, publicFields, readPublicFields } from "./keys.ts";
import { signBlob } from "./signature.ts";

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

/** OpenSSH's SSHKEY_CERT_MAX_PRINCIPALS. */
const mostPrincipals = 256;

/** The content of the principals field: string, string, … */
function readPrincipals(bytes: Buffer): readonly string[] {
  const reader = new Reader(bytes);
  const principals: string[] = [];
  while (!reader.done) {
    if (principals.length === mostPrincipals) throw new PlatformError("invalid", `SSH certificate of more than ${mostPrincipals} principals`);
    principals.push(reader.text());
  }
  return principals;
}

function writePrincipals(principals: readonly string[]): Buffer {
  return Buffer.concat(principals.map((principal) => string(principal)));
}

/** The content of the critical options and of the extensions. Names come in ascending order, each once; data is empty or holds one string. */
export function readOptions(bytes: Buffer): ReadonlyMap<string, string> {
  const reader = new Reader(bytes);
  const options = new Map<string, string>();
  let previous: Buffer | undefined;
  while (!reader.done) {
    const name = reader.string();
    if (previous !== undefined && Buffer.compare(previous, name) >= 0) {
      throw new PlatformError("invalid", "SSH certificate with options out of order");
    }
    previous = name;
    options.set(new Reader(string(name)).text(), readOptionData(reader.string()));
  }
  return options;
}

function readOptionData(data: Buffer): string {
  if (data.length === 0) return "";
  const reader = new Reader(data);
  const text = reader.text();
  reader.end("option of an SSH certificate");
  return text;
}

export function writeOptions(options: ReadonlyMap<string, string>): Buffer {
  const sorted = [...options].map(([name, value]) => ({ name: Buffer.from(name), value })).sort((a, b) => Buffer.compare(a.name, b.name));
  return Buffer.concat(sorted.flatMap(({ name, value }) => [string(name), string(value === "" ? "" : string(value))]));
}
