import { createPublicKey, randomBytes } from "node:crypto";
import { isIP } from "node:net";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { certificateNames } from "../../../core/identity/cluster-names.ts";
import type { HostIdentity, UserIdentity } from "../../../core/identity/identity.ts";
import { type SshCertificateFields, toSshCertificate } from "../../../core/identity/ssh-identity.ts";
import { certificateLine, signCertificate } from "../../../core/ssh/certificate.ts";
import { parsePublicLine } from "../../../core/ssh/keys.ts";
import { roleServerName } from "../../../core/transport/alpn.ts";
import { internalKubeName } from "../../../core/transport/kube-names.ts";
import type { AuthorityKeys } from "./authority-keys.ts";
import { type DatabaseLeafFacts, issueDatabaseLeaf, issueLeaf, skewed } from "./issue-x509.ts";

/* Certificates of users and hosts: both forms for one request, each for a key of the caller. */

export interface CertificateRequest {
  /** OpenSSH public key line. */
  readonly sshPublicKey: string;
  /** SubjectPublicKeyInfo, PEM. */
  readonly tlsPublicKey: string;
  readonly now: Date;
}

/** An OpenSSH certificate line and an X.509 certificate, PEM. */
export interface IssuedCertificates {
  /** Empty for an identity that is good for one resource only: SSH knows no such limit. */
  readonly sshCertificate: string;
  readonly tlsCertificate: string;
}

/** Certificates of a user, valid until `identity.validBefore`. Throws `invalid` for a key that cannot be certified. */
export async function issueUser(keys: AuthorityKeys, identity: UserIdentity, request: CertificateRequest): Promise<IssuedCertificates> {
  const publicKey = tlsPublicKey(request.tlsPublicKey);
  return {
    sshCertificate: identity.route === undefined ? issueSsh(keys, toSshCertificate(identity), request) : "",
    tlsCertificate: await issueLeaf(keys, { identity, publicKey, now: request.now, names: [] }),
  };
}

/** Validity of a host's certificates, ms; a host renews them long before. */
export const hostValidityMs = 14 * 24 * 3_600_000;

/** Certificates of a host. Throws `invalid` for a key that cannot be certified. */
export async function issueHost(keys: AuthorityKeys, identity: HostIdentity, request: CertificateRequest): Promise<IssuedCertificates> {
  const publicKey = tlsPublicKey(request.tlsPublicKey);
  return {
    sshCertificate: issueSsh(keys, toSshCertificate(identity), request),
    tlsCertificate: await issueLeaf(keys, { identity, publicKey, now: request.now, names: tlsNames(identity) }),
  };
}

/**
 * Its own names, and the shared name of all hosts of its role: a node cannot pass for the auth service. A proxy has the names of applications below its
 * own too, for browsers that trust the cluster's authority, and one for clients of Kubernetes; programs of ours compare the shared name alone.
 */
function tlsNames(identity: HostIdentity): readonly string[] {
  const below = identity.role === "proxy" ? [...identity.names.filter(isDomain).map((name) => `*.${name}`), internalKubeName] : [];
  return [...certificateNames(identity), ...below, roleServerName(identity.role)];
}

/** Whether clients accept a wildcard below the name: it has two labels at least, and is not an address. */
function isDomain(name: string): boolean {
  return isIP(name) === 0 && name.includes(".");
}

/** An OpenSSH certificate line for a public key line. Throws `invalid` for anything else. */
export function issueSsh(keys: AuthorityKeys, fields: SshCertificateFields, request: { sshPublicKey: string; now: Date }): string {
  if (keys.ssh === undefined) throw new Error(`the authority ${keys.kind} has no SSH key`);
  const blob = signCertificate({
    fields,
    key: parsePublicLine(request.sshPublicKey.slice(0, 16_384)),
    authority: keys.ssh,
    validAfter: skewed(request.now),
    serial: randomBytes(8).readBigUInt64BE(),
  });
  return certificateLine(blob);
}

/** A certificate for databases. Throws `invalid` for a key that cannot be certified. */
export async function issueDatabase(
  keys: AuthorityKeys,
  facts: Omit<DatabaseLeafFacts, "publicKey"> & Pick<CertificateRequest, "tlsPublicKey">,
): Promise<string> {
  return await issueDatabaseLeaf(keys, { ...facts, publicKey: tlsPublicKey(facts.tlsPublicKey) });
}

const curves = ["prime256v1", "secp384r1"];

/** A caller's TLS public key (SPKI PEM) as DER. Throws `invalid` for anything else, or a weak key. */
function tlsPublicKey(pem: string): Buffer {
  const refuse = (why: string, cause?: unknown): never => {
    throw new PlatformError("invalid", `the TLS public key ${why}`, { cause, hint: "send an ECDSA P-256 or Ed25519 public key, PEM" });
  };
  if (pem.length > 8_192 || !pem.includes("-----BEGIN PUBLIC KEY-----")) refuse("is not a PEM public key");
  try {
    const key = createPublicKey(pem);
    const { namedCurve, modulusLength } = key.asymmetricKeyDetails ?? {};
    const strong =
      key.asymmetricKeyType === "ed25519" ||
      (key.asymmetricKeyType === "ec" && curves.includes(namedCurve ?? "")) ||
      (key.asymmetricKeyType === "rsa" && (modulusLength ?? 0) >= 2048 && (modulusLength ?? 0) <= 8192);
    if (!strong) refuse(`is of an unsupported kind (${key.asymmetricKeyType})`);
    return key.export({ type: "spki", format: "der" });
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    return refuse("cannot be read", cause);
  }
}
