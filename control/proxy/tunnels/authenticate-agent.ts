import { PlatformError } from "../../../core/errors/platform-error.ts";
import { fromSshCertificate, type HostIdentity } from "../../../core/identity/identity.ts";
import { checkCertificate, type SshCertificate } from "../../../core/ssh/certificate.ts";

export interface AgentAttempt {
  readonly username: string;
  readonly certificate: SshCertificate;
  /** OpenSSH public key lines of the host authority. */
  readonly hostAuthorities: readonly string[];
  readonly cluster: string;
  readonly now: Date;
}

/** The identity of an agent that opens a tunnel. Throws `unauthenticated` unless its certificate is of a node of this cluster, in its own name. */
export function authenticateAgent({ username, certificate, hostAuthorities, cluster, now }: AgentAttempt): HostIdentity {
  checkCertificate(certificate, { type: "host", authorities: hostAuthorities, principal: username, now });
  const identity = fromSshCertificate(certificate);
  if (identity.kind !== "host" || identity.role !== "node") {
    throw new PlatformError("unauthenticated", "only a host of role node may open a tunnel");
  }
  if (identity.id !== username) throw new PlatformError("unauthenticated", "a host may open a tunnel only in its own name");
  if (identity.cluster !== cluster) throw new PlatformError("unauthenticated", `the host belongs to cluster ${identity.cluster}, not to ${cluster}`);
  return identity;
}
