import type { HostRole } from "../../../core/resources/token.ts";
import type { AuthContext } from "../auth-context.ts";
import { hostValidityMs } from "../authority/issue-host.ts";
import type { IssuedCertificates } from "../authority/issue-user.ts";

export interface HostCertificateAsk {
  readonly hostId: string;
  readonly role: HostRole;
  readonly names: readonly string[];
  readonly sshPublicKey: string;
  readonly tlsPublicKey: string;
  /** The authority's key that signs; left out: the one that signs now. */
  readonly pin?: string | undefined;
}

/** Certificates of a host for two weeks from now. */
export async function issueHostCertificates(
  context: Pick<AuthContext, "authorities" | "clusterName" | "now">,
  ask: HostCertificateAsk,
): Promise<IssuedCertificates> {
  const now = context.now();
  const validBefore = new Date(Math.floor((now.getTime() + hostValidityMs) / 1000) * 1000);
  const identity = { kind: "host", id: ask.hostId, role: ask.role, names: ask.names, cluster: context.clusterName, validBefore } as const;
  return await context.authorities.issueHost(identity, { ...ask, now }, ask.pin);
}
