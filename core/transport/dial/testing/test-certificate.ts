import "reflect-metadata";
import { randomUUID, webcrypto } from "node:crypto";
import {
  BasicConstraintsExtension,
  type JsonGeneralName,
  PemConverter,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** Certificates for the tests of this folder. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface TestAuthority extends TestCertificate {
  issue(name: JsonGeneralName, validity?: { notBefore: Date; notAfter: Date }): Promise<TestCertificate>;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const dayMs = 86_400_000;
/** A validity of this many days around the current time. */
export const around = (days: number): { notBefore: Date; notAfter: Date } => ({
  notBefore: new Date(Date.now() - days * dayMs),
  notAfter: new Date(Date.now() + days * dayMs),
});
const current = (): { notBefore: Date; notAfter: Date } => around(0.5);
export const past = (): { notBefore: Date; notAfter: Date } => ({
  notBefore: new Date(Date.now() - 2 * dayMs),
  notAfter: new Date(Date.now() - dayMs),
});

export async function createTestAuthority(valid = current()): Promise<TestAuthority> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const authority = await X509CertificateGenerator.createSelfSigned({
    name: `CN=test authority ${randomUUID()}`,
    keys: keys,
    signingAlgorithm: algorithm,
    ...valid,
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  return {
    ...(await pem(authority, keys.privateKey)),
    issue: async (name, validity = valid) => {
      const leafKeys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
      const leaf = await X509CertificateGenerator.create({
        subject: "CN=test leaf",
        issuer: authority.subject,
        publicKey: leafKeys.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: algorithm,
        ...validity,
        extensions: [new SubjectAlternativeNameExtension([name])],
      });
      return await pem(leaf, leafKeys.privateKey);
    },
  };
}

async function pem(certificate: X509Certificate, key: webcrypto.CryptoKey): Promise<TestCertificate> {
  const pkcs8 = await webcrypto.subtle.exportKey("pkcs8", key);
  return { cert: certificate.toString("pem"), key: PemConverter.encode(pkcs8, "PRIVATE KEY") };
}
