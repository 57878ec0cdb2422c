import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, webcrypto } from "node:crypto";
import "reflect-metadata";
import { X509Certificate } from "@peculiar/x509";
import { z } from "zod";
import { type AuthorityKind, type AuthorityKindRow, authorityKinds } from "../../../core/kinds/authority-kinds.ts";
import { publicLine } from "../../../core/ssh/keys.ts";
import { issueAuthorityCertificate } from "./issue-x509.ts";

/** The secret half of an authority: never leaves this folder. */
export interface AuthorityKeys {
  readonly kind: string;
  /** Undefined for an authority that is for X.509 only. */
  readonly ssh: KeyObject | undefined;
  readonly tls: webcrypto.CryptoKey;
  readonly certificate: X509Certificate;
  /** `ssh-ed25519 AAAA…`; empty without an SSH key. */
  readonly sshPublicLine: string;
}

export const storedKeysSchema = z.strictObject({
  ssh_private_key: z.string().optional(),
  tls_private_key: z.string(),
  tls_certificate: z.string(),
});
export type StoredKeys = z.infer<typeof storedKeysSchema>;

const ecdsa = { name: "ECDSA", namedCurve: "P-256" } as const;

/** New keys, in their stored form. */
export async function makeAuthorityKeys({ kind, ...facts }: { kind: AuthorityKind; cluster: string; now: Date }): Promise<StoredKeys> {
  return await makeKeys(authorityKinds[kind], facts);
}

/** The same for this row of a table of authorities. */
export async function makeKeys({ title, keys }: AuthorityKindRow, facts: { cluster: string; now: Date }): Promise<StoredKeys> {
  const tls = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const certificate = await issueAuthorityCertificate({ ...facts, title, ...(await importPair(tls)) });
  const stored = { tls_private_key: pem(tls), tls_certificate: certificate.toString("pem") };
  return keys === "x509" ? stored : { ssh_private_key: pem(generateKeyPairSync("ed25519").privateKey), ...stored };
}

export async function decodeAuthorityKeys(kind: string, stored: StoredKeys): Promise<AuthorityKeys> {
  const ssh = stored.ssh_private_key === undefined ? undefined : createPrivateKey(stored.ssh_private_key);
  const { privateKey } = await importPair(createPrivateKey(stored.tls_private_key));
  const sshPublicLine = ssh === undefined ? "" : publicLine(createPublicKey(ssh), "").trim();
  return { kind, ssh, tls: privateKey, certificate: new X509Certificate(stored.tls_certificate), sshPublicLine };
}

async function importPair(key: KeyObject): Promise<{ privateKey: webcrypto.CryptoKey; publicKey: webcrypto.CryptoKey }> {
  const [pkcs8, spki] = [key.export({ type: "pkcs8", format: "der" }), createPublicKey(key).export({ type: "spki", format: "der" })];
  return {
    privateKey: await webcrypto.subtle.importKey("pkcs8", pkcs8, ecdsa, false, ["sign"]),
    publicKey: await webcrypto.subtle.importKey("spki", spki, ecdsa, true, ["verify"]),
  };
}

function pem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}
