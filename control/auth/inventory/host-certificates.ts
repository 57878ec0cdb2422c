import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import type { HostRole } from "../../../core/resources/token.ts";
import type { AuthContext } from "../auth-context.ts";
import { hostValidityMs, type IssuedCertificates } from "../authority/issue-certificates.ts";
import { signerWrite } from "../rotation/rotate.ts";
import { judgeHostNames } from "../tokens/host-names.ts";
import { nodeNamesWrite, proxyNamesWrite, requireHost } from "./host-records.ts";

interface HostCertificateAsk {
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

export interface RenewAsk {
  readonly hostname: string;
  readonly names: readonly string[];
  readonly sshPublicKey: string;
  readonly tlsPublicKey: string;
  readonly address: string;
}

export interface RenewedCertificates extends IssuedCertificates {
  /** The reasons why it lacks requested names, a sentence each. */
  readonly refusedNames: string[];
}

/**
 * New certificates for the requesting host: the same id and role, other names on request. Names that it may not have are left out and
 * reported, so that a host does not lose its identity over a name. Refused for a removed host.
 */
export async function renewHost(context: AuthContext, host: HostIdentity, ask: RenewAsk): Promise<RenewedCertificates> {
  const facts = {
    event: "instance.renew",
    server_id: host.id,
    server_name: ask.hostname.slice(0, 128),
    role: host.role,
    "addr.remote": ask.address,
  } as const;
  try {
    await requireHost(context.storage, host.role, host.id);
    const { clusterName: cluster, storage } = context;
    const others = await context.namesInUse.others(host);
    const { names, refused } = judgeHostNames({ role: host.role, hostname: ask.hostname, names: ask.names, cluster, others, held: host.names[0] });
    const issued = await issueHostCertificates(context, { ...ask, names, hostId: host.id, role: host.role });
    const why = refused.map(({ message }) => message);
    if (host.role === "proxy")
      await storage.put(proxyNamesWrite(host.id, { hostname: ask.hostname, names: ask.names.filter((name) => names.includes(name)) }));
    if (host.role === "node") await storage.put(nodeNamesWrite(host.id, { names: [...names], refused: why }));
    context.audit.emit({ ...facts, success: true });
    if (refused.length > 0) context.audit.emitRefusal({ ...facts, success: false, error: why.join("; ").slice(0, 1000) });
    return { ...issued, refusedNames: refused.map(({ message, hint }) => (hint === undefined ? message : `${message} (${hint})`)) };
  } catch (thrown) {
    const error = thrown instanceof PlatformError ? thrown.message : "internal error";
    context.audit.emitRefusal({ ...facts, success: false, error });
    throw thrown;
  }
}
