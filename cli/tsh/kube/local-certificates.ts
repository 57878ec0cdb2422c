import { randomBytes, webcrypto } from "node:crypto";
import "reflect-metadata";
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from "@peculiar/x509";
import type { TlsCredentials } from "../../profile/profile.ts";
import { loopback } from "../served/local-port.ts";

/** Certificates of a local port: only who can read the kubeconfig gets in, and the certificate that is presented there says which cluster is meant. */
export interface LocalCertificates {
  /** Its own authority. */
  readonly server: TlsCredentials;
  /** By name of the Kubernetes cluster. */
  readonly clients: ReadonlyMap<string, TlsCredentials>;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
/** The port lives as long as a command. */
const validDays = 30;

/** New keys with self-signed certificates: one for the server at 127.0.0.1, one for the clients of each cluster. */
export async function localCertificates(kubes: readonly string[], now: Date): Promise<LocalCertificates> {
  const clients = await Promise.all(kubes.map(async (kube) => [kube, await selfSigned("client", now)] as const));
  return { server: await selfSigned("server", now), clients: new Map(clients) };
}

async function selfSigned(role: "server" | "client", now: Date): Promise<TlsCredentials> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const serialNumber = randomBytes(16);
  // Positive, and without a leading zero.
  serialNumber[0] = 0x40 | ((serialNumber[0] ?? 0) & 0x3f);
  const made = await X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: serialNumber.toString("hex"),
      name: `CN=tsh local ${role}`,
      notBefore: new Date(now.getTime() - 60_000),
      notAfter: new Date(now.getTime() + validDays * 86_400_000),
      keys,
      signingAlgorithm: algorithm,
      extensions: role === "server" ? [new SubjectAlternativeNameExtension([{ type: "ip", value: loopback }])] : [],
    },
    webcrypto,
  );
  const key = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  const lines = key.match(/.{1,64}/g) ?? [];
  return {
    certificate: `${made.toString("pem").trim()}\n`,
    privateKey: `-----BEGIN PRIVATE KEY-----\n${lines.join("\n")}\n-----END PRIVATE KEY-----\n`,
  };
}
