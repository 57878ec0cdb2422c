import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { generateSshKey } from "../../core/ssh/keys.ts";

/** The two key pairs of a user or a host: SSH as an OpenSSH line, TLS as PEM. */
export interface NewKeys {
  readonly sshPrivateKey: KeyObject;
  readonly sshPublicKey: string;
  readonly tlsPrivateKey: string;
  readonly tlsPublicKey: string;
}

/** A user's keys with their certificates: an OpenSSH line and PEM. */
export interface UserKeys extends NewKeys {
  readonly sshCertificate: string;
  readonly tlsCertificate: string;
}

export function generateKeys(): NewKeys {
  const ssh = generateSshKey();
  const tls = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    sshPrivateKey: ssh.privateKey,
    sshPublicKey: ssh.publicLine,
    tlsPrivateKey: tls.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    tlsPublicKey: tls.publicKey.export({ type: "spki", format: "pem" }).toString(),
  };
}

/** The half of the keys that a request for certificates carries. */
export function publicKeys({ sshPublicKey, tlsPublicKey }: NewKeys): Pick<NewKeys, "sshPublicKey" | "tlsPublicKey"> {
  return { sshPublicKey, tlsPublicKey };
}
