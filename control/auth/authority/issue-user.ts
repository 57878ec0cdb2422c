import { toSshCertificate, type UserIdentity } from "../../../core/identity/identity.ts";
import type { AuthorityKeys } from "./authority-keys.ts";
import { issueSsh } from "./issue-ssh.ts";
import { issueLeaf } from "./issue-x509.ts";
import { tlsPublicKey } from "./public-keys.ts";

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
