import { generateKeyPairSync } from "node:crypto";
import { generateSshKey, toOpensshPrivate } from "../core/ssh/keys.ts";

export interface NewKeys {
  readonly sshPublic: string;
  /** OpenSSH private key file. */
  readonly sshPrivate: string;
  /** PEM. */
  readonly tlsPublic: string;
  readonly tlsPrivate: string;
}

/** Made here and kept here: only the public halves go to the auth service. */
export function newKeys(): NewKeys {
  const ssh = generateSshKey();
  const tls = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    sshPublic: ssh.publicLine,
    sshPrivate: toOpensshPrivate(ssh.privateKey),
    tlsPublic: tls.publicKey.export({ type: "spki", format: "pem" }).toString(),
    tlsPrivate: tls.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}
