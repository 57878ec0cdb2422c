import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, webcrypto } from "node:crypto";
import "reflect-metadata";
import { X509Certificate } from "@peculiar/x509";
import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { publicLine } from "../../../core/ssh/keys.ts";
import type { Storage } from "../../storage/storage.ts";
import { issueAuthorityCertificate } from "./issue-x509.ts";

export type AuthorityKind = "user" | "host";

/** The secret half of an authority: never leaves this folder. */
export interface AuthorityKeys {
  readonly kind: AuthorityKind;
  readonly ssh: KeyObject;
  readonly tls: webcrypto.CryptoKey;
  readonly certificate: X509Certificate;
  /** `ssh-ed25519 AAAA…` */
  readonly sshPublicLine: string;
}

const storedSchema = z.strictObject({
  ssh_private_key: z.string(),
  tls_private_key: z.string(),
  tls_certificate: z.string(),
});

const ecdsa = { name: "ECDSA", namedCurve: "P-256" } as const;

/** Reads an authority, or makes it at first start. Two processes that start at once end with the same one. */
export async function openAuthorityKeys(storage: Storage, facts: { kind: AuthorityKind; cluster: string; now: Date }): Promise<AuthorityKeys> {
  const key = `/authority/${facts.kind}`;
  const stored = await storage.get(key);
  if (stored !== undefined) return await decode(facts.kind, stored.value);
  const made = await make(facts);
  try {
    await storage.put({ key, value: JSON.stringify(made), expect: "absent" });
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "already_exists") throw thrown;
  }
  const winner = await storage.get(key);
  if (winner === undefined) throw new PlatformError("unavailable", `the ${facts.kind} authority vanished from the storage`);
  return await decode(facts.kind, winner.value);
}

async function make(facts: { kind: AuthorityKind; cluster: string; now: Date }): Promise<z.infer<typeof storedSchema>> {
  const ssh = generateKeyPairSync("ed25519").privateKey;
  const tls = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const certificate = await issueAuthorityCertificate({ ...facts, ...(await importPair(tls)) });
  return { ssh_private_key: pem(ssh), tls_private_key: pem(tls), tls_certificate: certificate.toString("pem") };
}

async function decode(kind: AuthorityKind, json: string): Promise<AuthorityKeys> {
  const stored = storedSchema.parse(JSON.parse(json));
  const ssh = createPrivateKey(stored.ssh_private_key);
  const { privateKey } = await importPair(createPrivateKey(stored.tls_private_key));
  const sshPublicLine = publicLine(createPublicKey(ssh), "").trim();
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
