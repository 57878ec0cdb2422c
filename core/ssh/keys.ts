import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type JsonWebKey, type KeyObject, randomBytes } from "node:crypto";
import { Reader, string, u32 } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";

/** Curves of RFC 5656: SSH name → JWK name and bytes of a coordinate. */
const curves: ReadonlyMap<string, { readonly jwk: string; readonly bytes: number }> = new Map([
  ["nistp256", { jwk: "P-256", bytes: 32 }],
  ["nistp384", { jwk: "P-384", bytes: 48 }],
  ["nistp521", { jwk: "P-521", bytes: 66 }],
]);

/** Accepted sizes of RSA keys: others are too weak, or too slow to check for an unknown peer. */
const rsaBits = { least: 2048, most: 8192 } as const;

/** A new Ed25519 key, and its line without a comment. */
export function generateSshKey(): { privateKey: KeyObject; publicLine: string } {
  const { privateKey } = generateKeyPairSync("ed25519");
  return { privateKey, publicLine: publicLine(privateKey, "") };
}

/** Key type and its public fields in SSH form. Throws `unsupported` for keys other than Ed25519, ECDSA and RSA. */
export function publicFields(key: KeyObject): { type: string; fields: Buffer } {
  const jwk = (key.type === "private" ? createPublicKey(key) : key).export({ format: "jwk" });
  const part = (name: "x" | "y" | "e" | "n") => Buffer.from(jwk[name] ?? "", "base64url");
  if (jwk.kty === "OKP" && jwk.crv === "Ed25519") return { type: "ssh-ed25519", fields: string(part("x")) };
  if (jwk.kty === "RSA") return { type: "ssh-rsa", fields: Buffer.concat([writeMpint(part("e")), writeMpint(part("n"))]) };
  for (const [name, { jwk: crv }] of curves) {
    if (jwk.kty !== "EC" || jwk.crv !== crv) continue;
    const point = Buffer.concat([Buffer.of(4), part("x"), part("y")]);
    return { type: `ecdsa-sha2-${name}`, fields: Buffer.concat([string(name), string(point)]) };
  }
  throw new PlatformError("unsupported", `no SSH format for a key of type ${key.asymmetricKeyType ?? key.type}`);
}

/** The reverse of `publicFields`: reads as many fields as `type` has. Throws `invalid`, or `unsupported` for an unknown type. */
export function readPublicFields(type: string, reader: Reader): KeyObject {
  if (type === "ssh-ed25519") return fromJwk({ kty: "OKP", crv: "Ed25519", x: base64url(reader.string()) });
  if (type === "ssh-rsa") {
    const e = readMpint(reader.string());
    const n = readMpint(reader.string());
    const bits = n.length * 8;
    if (bits < rsaBits.least || bits > rsaBits.most || e.length > 8) {
      throw new PlatformError("unsupported", `an RSA key must have ${rsaBits.least} to ${rsaBits.most} bits`);
    }
    return fromJwk({ kty: "RSA", e: base64url(e), n: base64url(n) });
  }
  const name = type.startsWith("ecdsa-sha2-") ? type.slice("ecdsa-sha2-".length) : "";
  const curve = curves.get(name);
  if (curve === undefined) throw new PlatformError("unsupported", "unsupported SSH key type: only Ed25519, ECDSA and RSA are supported");
  if (reader.text() !== name) throw new PlatformError("invalid", "an ECDSA key names two curves");
  const point = reader.string();
  if (point.length !== 1 + 2 * curve.bytes || point[0] !== 4) throw new PlatformError("invalid", "an ECDSA key has a malformed point");
  const [x, y] = [point.subarray(1, 1 + curve.bytes), point.subarray(1 + curve.bytes)];
  return fromJwk({ kty: "EC", crv: curve.jwk, x: base64url(x), y: base64url(y) });
}

/** The public half as SSH sends it (RFC 4253 section 6.6): `string type`, then its fields. */
export function publicBlob(key: KeyObject): Buffer {
  const { type, fields } = publicFields(key);
  return Buffer.concat([string(type), fields]);
}

/** The reverse of `publicBlob`; a certificate is refused. Throws `invalid` or `unsupported`. */
export function parsePublicBlob(blob: Buffer): { type: string; key: KeyObject } {
  const reader = new Reader(blob);
  const type = reader.text();
  const key = readPublicFields(type, reader);
  reader.end("SSH public key");
  return { type, key };
}

/** One line of an authorized_keys file, without a newline. */
export function publicLine(key: KeyObject, comment: string): string {
  return blobLine(publicBlob(key), comment);
}

/** The reverse of `publicLine`; the comment is dropped. */
export function parsePublicLine(line: string): KeyObject {
  return parsePublicBlob(lineBlob(line)).key;
}

/** `type base64 comment` of any blob that starts with its type. Control characters in the comment become spaces. */
export function blobLine(blob: Buffer, comment: string): string {
  const text = comment.replace(/\p{Cc}+/gu, " ").trim();
  return `${new Reader(blob).text()} ${blob.toString("base64")}${text === "" ? "" : ` ${text}`}`;
}

/** The blob of a `type base64 comment` line. Throws `invalid` if the line is malformed, or names another type than its blob. */
export function lineBlob(line: string): Buffer {
  const [type, base64] = line.trim().split(/[ \t]+/);
  if (type === undefined || base64 === undefined || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) {
    throw new PlatformError("invalid", "not an SSH public key line", { hint: 'write it like "ssh-ed25519 AAAA…"' });
  }
  const blob = Buffer.from(base64, "base64");
  if (new Reader(blob).text() !== type) throw new PlatformError("invalid", "an SSH public key line names another type than its key");
  return blob;
}

/** Fingerprint of a public key line, as printed by `ssh-keygen -l`: `SHA256:` and base64. */
export function sshFingerprint(line: string): string {
  return `SHA256:${createHash("sha256").update(lineBlob(line)).digest("base64").replace(/=+$/, "")}`;
}

const privateMagic = Buffer.from("openssh-key-v1\0");
const privateArmour = { begin: "-----BEGIN OPENSSH PRIVATE KEY-----", end: "-----END OPENSSH PRIVATE KEY-----" } as const;

/**
 * An unencrypted private key file as `ssh` reads it; write it with mode 0600. Ed25519 only, else `unsupported`.
 *
 *   "openssh-key-v1\0" | string cipher "none" | string kdf "none" | string kdf options "" | u32 1 | string public blob
 *   string( u32 check | u32 check | string type | string public 32 | string seed+public 64 | string comment | 1 2 3 … to 8 bytes )
 *
 * Source: OpenSSH PROTOCOL.key.
 */
export function toOpensshPrivate(key: KeyObject): string {
  const jwk = key.export({ format: "jwk" });
  if (jwk.crv !== "Ed25519" || jwk.d === undefined || jwk.x === undefined) {
    throw new PlatformError("unsupported", "only an Ed25519 private key can be written as an OpenSSH key file");
  }
  const [seed, open] = [Buffer.from(jwk.d, "base64url"), Buffer.from(jwk.x, "base64url")];
  const check = randomBytes(4);
  const fields = Buffer.concat([check, check, string("ssh-ed25519"), string(open), string(Buffer.concat([seed, open])), string("")]);
  const padding = Buffer.from(Array.from({ length: (8 - (fields.length % 8)) % 8 }, (_, index) => index + 1));
  const secret = string(Buffer.concat([fields, padding]));
  const file = Buffer.concat([privateMagic, string("none"), string("none"), string(""), u32(1), string(publicBlob(key)), secret]);
  const lines = file.toString("base64").match(/.{1,70}/g) ?? [];
  return `${[privateArmour.begin, ...lines, privateArmour.end].join("\n")}\n`;
}

/** Reads the output of `toOpensshPrivate` and `ssh-keygen -t ed25519 -N ''`. Throws `invalid`, or `unsupported` for an encrypted or other key. */
export function fromOpensshPrivate(text: string): KeyObject {
  const body = text.trim();
  if (!body.startsWith(privateArmour.begin) || !body.endsWith(privateArmour.end) || body.length > 65_536) {
    throw new PlatformError("invalid", "not an OpenSSH private key file");
  }
  const reader = new Reader(Buffer.from(body.slice(privateArmour.begin.length, -privateArmour.end.length), "base64"));
  if (!reader.take(privateMagic.length).equals(privateMagic)) throw new PlatformError("invalid", "not an OpenSSH private key file");
  if (reader.text() !== "none" || reader.text() !== "none") throw new PlatformError("unsupported", "the private key file is encrypted");
  reader.string();
  if (reader.u32() !== 1) throw new PlatformError("unsupported", "the private key file holds more than one key");
  const open = parsePublicBlob(reader.string());
  return readSecret(new Reader(reader.string()), open.key);
}

function readSecret(reader: Reader, publicKey: KeyObject): KeyObject {
  const check = reader.u32();
  if (check !== reader.u32()) throw new PlatformError("invalid", "the private key file is damaged");
  if (reader.text() !== "ssh-ed25519") throw new PlatformError("unsupported", "only Ed25519 private key files are supported");
  const open = reader.string();
  const seed = reader.string().subarray(0, 32);
  const key = fromJwk({ kty: "OKP", crv: "Ed25519", x: base64url(open), d: base64url(seed) });
  if (!createPublicKey(key).equals(publicKey)) throw new PlatformError("invalid", "the private key file is damaged: its halves differ");
  return key;
}

function base64url(bytes: Buffer): string {
  return bytes.toString("base64url");
}

/** Node's own check of a key: a point off the curve and a wrong length are refused. */
function fromJwk(jwk: JsonWebKey): KeyObject {
  try {
    return jwk.d === undefined ? createPublicKey({ format: "jwk", key: jwk }) : createPrivateKey({ format: "jwk", key: jwk });
  } catch (cause) {
    throw new PlatformError("invalid", "malformed SSH key", { cause });
  }
}

/** Unsigned big-endian bytes as an SSH mpint (RFC 4251 section 5): no leading zeros, one zero before a set high bit. */
export function writeMpint(bytes: Buffer): Buffer {
  const short = withoutZeros(bytes);
  return string(short.length > 0 && (short[0] as number) & 0x80 ? Buffer.concat([Buffer.of(0), short]) : short);
}

/** The unsigned bytes of an mpint's content, padded to `length` when given. Throws `invalid` for a negative or a longer one. */
export function readMpint(content: Buffer, length?: number): Buffer {
  if (content.length > 0 && (content[0] as number) & 0x80) throw new PlatformError("invalid", "negative number in an SSH key or signature");
  const short = withoutZeros(content);
  if (length === undefined) return short;
  if (short.length > length) throw new PlatformError("invalid", "number too long in an SSH key or signature");
  return Buffer.concat([Buffer.alloc(length - short.length), short]);
}

function withoutZeros(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length && bytes[start] === 0) start += 1;
  return bytes.subarray(start);
}
