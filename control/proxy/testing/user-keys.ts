import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { generateSshKey } from "../../../core/ssh/keys.ts";

/** A user's keys with their certificates: an OpenSSH line and PEM. */
export interface UserKeys {
  readonly sshPrivateKey: KeyObject;
  readonly sshPublicKey: string;
  readonly sshCertificate: string;
  readonly tlsPrivateKey: string;
  readonly tlsPublicKey: string;
  readonly tlsCertificate: string;
}

export function generateUserKeys(): Omit<UserKeys, "sshCertificate" | "tlsCertificate"> {
  const ssh = generateSshKey();
  const tls = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    sshPrivateKey: ssh.privateKey,
    sshPublicKey: ssh.publicLine,
    tlsPrivateKey: tls.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    tlsPublicKey: tls.publicKey.export({ type: "spki", format: "pem" }).toString(),
  };
}
