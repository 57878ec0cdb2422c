import { type KeyObject, sign, verify } from "node:crypto";
import { Reader, string } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";
import { publicFields, readMpint, writeMpint } from "./keys.ts";

/** Signature algorithm → hash and bytes of an ECDSA number. SHA-1 (`ssh-rsa`) is absent on purpose. */
const algorithms: ReadonlyMap<string, { readonly hash: string | null; readonly number?: number }> = new Map([
  ["ssh-ed25519", { hash: null }],
  ["ecdsa-sha2-nistp256", { hash: "sha256", number: 32 }],
  ["ecdsa-sha2-nistp384", { hash: "sha384", number: 48 }],
  ["ecdsa-sha2-nistp521", { hash: "sha512", number: 66 }],
  ["rsa-sha2-256", { hash: "sha256" }],
  ["rsa-sha2-512", { hash: "sha512" }],
]);

/** Default signature algorithm for a key of this type. */
export function signatureAlgorithm(keyType: string): string {
  return keyType === "ssh-rsa" ? "rsa-sha2-512" : keyType;
}

/** The bytes inside of an SSH signature blob, without the algorithm's name. */
export function signRaw(key: KeyObject, data: Buffer, algorithm: string): Buffer {
  const found = algorithms.get(algorithm);
  if (found === undefined) throw new PlatformError("unsupported", `unsupported signature algorithm ${algorithm}`);
  if (found.number === undefined) return sign(found.hash, data, key);
  const both = sign(found.hash, data, { key, dsaEncoding: "ieee-p1363" });
  return Buffer.concat([writeMpint(both.subarray(0, found.number)), writeMpint(both.subarray(found.number))]);
}

/** `string algorithm | string raw signature` (RFC 4253 section 6.6). */
export function signBlob(key: KeyObject, data: Buffer): Buffer {
  const algorithm = signatureAlgorithm(publicFields(key).type);
  return Buffer.concat([string(algorithm), string(signRaw(key, data, algorithm))]);
}

/** Whether `signature` (a blob) is one of `key` over `data`; `algorithm` requires exactly that one. Returns false for hostile bytes. */
export function verifyBlob(options: { key: KeyObject; data: Buffer; signature: Buffer; algorithm?: string }): boolean {
  const { key, data } = options;
  try {
    const reader = new Reader(options.signature);
    const algorithm = reader.text();
    const raw = reader.string();
    reader.end("SSH signature");
    const { type } = publicFields(key);
    const fits = type === "ssh-rsa" ? algorithm.startsWith("rsa-sha2-") : algorithm === type;
    const found = algorithms.get(algorithm);
    if (!fits || found === undefined || (options.algorithm !== undefined && options.algorithm !== algorithm)) return false;
    if (found.number === undefined) return verify(found.hash, data, key, raw);
    const numbers = new Reader(raw);
    const both = Buffer.concat([readMpint(numbers.string(), found.number), readMpint(numbers.string(), found.number)]);
    numbers.end("ECDSA signature");
    return verify(found.hash, data, { key, dsaEncoding: "ieee-p1363" }, both);
  } catch (thrown) {
    if (thrown instanceof PlatformError) return false;
    throw thrown;
  }
}
