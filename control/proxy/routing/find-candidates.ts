import { PlatformError } from "../../../core/errors/platform-error.ts";
import { namesMeant } from "../../../core/identity/cluster-names.ts";
import type { Tunnel } from "../tunnels/tunnel.ts";
import type { Access } from "./access-cache.ts";
import { findOpenssh } from "./openssh-target.ts";
import type { RoutingServices } from "./routing-services.ts";
import { type RecordedTarget, type Target, tunnelTarget } from "./target.ts";

/** All hosts that match the target. A host with a tunnel here is not dialled. */
export async function findCandidates(
  target: string,
  { openssh }: Access,
  { registry, cluster, hosts, arriving }: RoutingServices,
): Promise<{ readonly candidates: readonly Target[]; readonly recorded: readonly RecordedTarget[] }> {
  const { reachable, recorded } = await hosts.find(target).catch((thrown: unknown) => {
    // Without the auth service, hosts with a tunnel stay reachable: by id, and by a unique name.
    const tunnels = registry.find(target, cluster);
    if (tunnels.length === 0) throw thrown;
    requireOwnName(target, tunnels, cluster);
    return { reachable: [], recorded: [] };
  });
  // The auth service learns of a tunnel before it is registered here, and then omits its host.
  if (registry.find(target, cluster).length === 0) await arriving.settled(target, cluster);
  const tunnels = registry.find(target, cluster);
  const here = new Set(tunnels.map(({ identity }) => identity.id));
  const others = reachable.filter(({ identity }) => !here.has(identity.id));
  return { candidates: [...tunnels.map(tunnelTarget), ...others, ...findOpenssh(openssh, target, cluster)], recorded };
}

function requireOwnName(target: string, tunnels: readonly Tunnel[], cluster: string): void {
  const meant = namesMeant(target, cluster);
  if (!tunnels.some(({ identity, sharesName }) => sharesName && !meant.includes(identity.id))) return;
  throw new PlatformError("unavailable", `several hosts are recorded as ${JSON.stringify(target)}, and the auth service is unreachable`, {
    hint: "try again shortly, or use the host's id",
  });
}
