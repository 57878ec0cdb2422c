import { PlatformError } from "../../core/errors/platform-error.ts";
import { inSession, type UserIdentity } from "../../core/identity/identity.ts";
import { fromSshCertificate } from "../../core/identity/ssh-identity.ts";
import type { SshCertificate } from "../../core/ssh/certificate.ts";
import { checkCertificate } from "../../core/ssh/check-certificate.ts";
import { type Access, requireReadableRoles } from "../access/access-source.ts";

export interface CertificateFacts {
  readonly certificate: SshCertificate;
  /** IP address of the client, empty when not known. */
  readonly clientIp: string;
  readonly access: Access;
  /** Name of this host. */
  readonly hostname: string;
  readonly cluster: string;
  readonly now: Date;
}

/** The identity in a certificate, which must list the given login, if any. Throws `unauthenticated` or `denied` with the reason. Pure. */
export function certifiedUser({ certificate, access, clientIp, hostname, cluster, now }: CertificateFacts, login?: string): UserIdentity {
  checkCertificate(certificate, {
    type: "user",
    authorities: access.userCaSsh,
    now,
    ...(login !== undefined && { principal: login }),
    ...(clientIp !== "" && { clientAddress: clientIp }),
  });
  const identity = fromSshCertificate(certificate);
  if (identity.kind !== "user") throw new PlatformError("unauthenticated", "a user certificate is required; this is a host certificate");
  if (identity.cluster !== cluster) {
    throw new PlatformError("unauthenticated", `the certificate is for cluster ${identity.cluster}, and this host belongs to ${cluster}`);
  }
  requireReadableRoles(identity, access, hostname);
  return inSession(identity);
}
