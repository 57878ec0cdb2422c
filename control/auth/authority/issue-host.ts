import { certificateNames } from "../../../core/identity/cluster-names.ts";
import { type HostIdentity, toSshCertificate } from "../../../core/identity/identity.ts";
import { roleServerName } from "../../../core/transport/alpn.ts";
import type { AuthorityKeys } from "./authority-keys.ts";
import { issueSsh } from "./issue-ssh.ts";
import type { CertificateRequest, IssuedCertificates } from "./issue-user.ts";
import { issueLeaf } from "./issue-x509.ts";
import { tlsPublicKey } from "./public-keys.ts";

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

/** Its own names, and the shared name of all hosts of its role: a node cannot pass for the auth service. */
function tlsNames(identity: HostIdentity): readonly string[] {
  return [...certificateNames(identity), roleServerName(identity.role)];
}
