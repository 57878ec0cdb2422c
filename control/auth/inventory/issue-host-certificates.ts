import type { HostRole } from "../../../core/resources/token.ts";
import type { AuthContext } from "../auth-context.ts";
import { hostValidityMs } from "../authority/issue-host.ts";
import type { IssuedCertificates } from "../authority/issue-user.ts";
import { signerWrite } from "../rotation/hosts-behind.ts";

export interface HostCertificateAsk {
  readonly hostId: string;
  readonly role: HostRole;
  readonly names: readonly string[];
  readonly sshPublicKey: string;
  readonly tlsPublicKey: string;
  /** The authority's key to sign with; left out: the current signing key. */
  readonly pin?: string | undefined;
}

/** Certificates of a host for two weeks from now. The signing key is recorded: a rotation lists the hosts that lag behind. */
export async function issueHostCertificates(
  context: Pick<AuthContext, "authorities" | "clusterName" | "now" | "storage">,
  ask: HostCertificateAsk,
): Promise<IssuedCertificates> {
  const now = context.now();
  const validBefore = new Date(Math.floor((now.getTime() + hostValidityMs) / 1000) * 1000);
  const identity = { kind: "host", id: ask.hostId, role: ask.role, names: ask.names, cluster: context.clusterName, validBefore } as const;
  const pin = ask.pin ?? context.authorities.rotation("host").keys[0]?.ca_pin;
  if (pin === undefined) throw new Error("the host authority has no key");
  const issued = await context.authorities.issueHost(identity, { ...ask, now }, pin);
  await context.storage.put(signerWrite(ask.role, ask.hostId, { pin, validBefore }));
  return issued;
}
