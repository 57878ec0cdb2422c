import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import type { AuthContext } from "../auth-context.ts";
import type { IssuedCertificates } from "../authority/issue-user.ts";
import { judgeHostNames } from "../tokens/host-names.ts";
import { requireHost } from "./host-records.ts";
import { issueHostCertificates } from "./issue-host-certificates.ts";
import { otherNames, proxyNamesWrite } from "./names-in-use.ts";
import { nodeNamesWrite } from "./node-names.ts";

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
    const others = await otherNames(context, host);
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
