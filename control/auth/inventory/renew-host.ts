import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import type { AuthContext } from "../auth-context.ts";
import type { IssuedCertificates } from "../authority/issue-user.ts";
import { checkHostNames } from "../tokens/host-names.ts";
import { requireHost } from "./host-records.ts";
import { issueHostCertificates } from "./issue-host-certificates.ts";
import { otherNames, proxyNamesWrite } from "./names-in-use.ts";

export interface RenewAsk {
  readonly hostname: string;
  readonly names: readonly string[];
  readonly sshPublicKey: string;
  readonly tlsPublicKey: string;
  readonly address: string;
}

/** New certificates for the host that asks: the same id and role, other names if it likes. Refused once it was removed. */
export async function renewHost(context: AuthContext, host: HostIdentity, ask: RenewAsk): Promise<IssuedCertificates> {
  const facts = {
    event: "instance.renew",
    server_id: host.id,
    server_name: ask.hostname.slice(0, 128),
    role: host.role,
    "addr.remote": ask.address,
  } as const;
  try {
    await requireHost(context.storage, host.role, host.id);
    const own = { role: host.role, id: host.id, cluster: context.clusterName };
    const others = await otherNames(context.storage, own);
    const names = checkHostNames({ ...own, hostname: ask.hostname, names: ask.names, others });
    const issued = await issueHostCertificates(context, { ...ask, names, hostId: host.id, role: host.role });
    if (host.role === "proxy") await context.storage.put(proxyNamesWrite(host.id, ask));
    context.audit.emit({ ...facts, success: true });
    return issued;
  } catch (thrown) {
    const error = thrown instanceof PlatformError ? thrown.message : "internal error";
    context.audit.emitRefusal({ ...facts, success: false, error });
    throw thrown;
  }
}
