import { createPublicKey, type KeyObject, sign, verify } from "node:crypto";

/**
 * The auth service's statement to one host about its target version. On the wire it is
 * `base64url(JSON) "." base64url(Ed25519 signature over context || JSON)`; the key is the SSH key of the host authority, and the context
 * keeps the signature apart from those of certificates, which begin with four bytes of a length.
 */
export interface UpgradeStatement {
  /** Id of the host. */
  readonly host: string;
  readonly channel: string;
  /** `v1.2.3` */
  readonly version: string;
  readonly critical: boolean;
  /** Unix seconds. */
  readonly issued: number;
  readonly expires: number;
}

const context = Buffer.from("platform-upgrade-target-v1\n");
/** Maximum text, since it is sent in a header. */
const maxText = 2000;
/** Validity of a statement, seconds. */
const lifetime = 3600;

/** A signed statement with the current time. `key` is Ed25519. */
export function signStatement(facts: Omit<UpgradeStatement, "issued" | "expires">, { key, now }: { key: KeyObject; now: Date }): string {
  const issued = Math.floor(now.getTime() / 1000);
  const { host, channel, version, critical } = facts;
  const payload = Buffer.from(JSON.stringify({ host, channel, version, critical, issued, expires: issued + lifetime }));
  return `${payload.toString("base64url")}.${sign(null, Buffer.concat([context, payload]), key).toString("base64url")}`;
}

/** The statement, if one of the keys (lines `ssh-ed25519 AAAA…`) has signed it; undefined for anything else. Never throws. */
export function openStatement(text: string, keys: readonly string[]): UpgradeStatement | undefined {
  const match = text.length > maxText ? null : /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/.exec(text);
  if (match === null) return undefined;
  const [payload, signature] = [Buffer.from(match[1] ?? "", "base64url"), Buffer.from(match[2] ?? "", "base64url")];
  const signed = Buffer.concat([context, payload]);
  const known = keys.flatMap((line) => ed25519Key(line) ?? []);
  return known.some((key) => verify(null, signed, key, signature)) ? parseStatement(payload) : undefined;
}

function parseStatement(payload: Buffer): UpgradeStatement | undefined {
  let value: unknown;
  try {
    value = JSON.parse(payload.toString("utf8"));
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { host, channel, version, critical, issued, expires } = { ...value } as Readonly<Record<string, unknown>>;
  if (typeof host !== "string" || typeof channel !== "string" || typeof version !== "string" || typeof critical !== "boolean") return undefined;
  if (typeof issued !== "number" || typeof expires !== "number") return undefined;
  return { host, channel, version, critical, issued, expires };
}

/** `string "ssh-ed25519"`, `string` of 32 bytes. */
const blobHead = Buffer.from("0000000b7373682d6564323535313900000020", "hex");
/** SubjectPublicKeyInfo of an Ed25519 key, up to its 32 bytes. */
const spkiHead = Buffer.from("302a300506032b6570032100", "hex");

function ed25519Key(line: string): KeyObject | undefined {
  const blob = Buffer.from(/^ssh-ed25519 ([A-Za-z0-9+/]{68})(\s|$)/.exec(line)?.[1] ?? "", "base64");
  if (blob.length !== blobHead.length + 32 || !blob.subarray(0, blobHead.length).equals(blobHead)) return undefined;
  return createPublicKey({ key: Buffer.concat([spkiHead, blob.subarray(blobHead.length)]), format: "der", type: "spki" });
}
