import { createHash } from "node:crypto";
import { type ClusterProxy, maxAgentProxies } from "../core/resources/proxy.ts";

/**
 * The proxies to which this host keeps tunnels: all of them, up to the limit. Above it each host has its own order, which does not change
 * for the other proxies when one comes or goes, so that hosts spread evenly and stay where they are. Pure.
 */
export function chooseProxies(proxies: readonly ClusterProxy[], hostId: string, most = maxAgentProxies): readonly ClusterProxy[] {
  if (proxies.length <= most) return proxies;
  const rank = ({ id }: ClusterProxy): string => createHash("sha256").update(`${hostId} ${id}`).digest("hex");
  const ranked = proxies.map((proxy) => ({ proxy, rank: rank(proxy) })).sort((a, b) => (a.rank < b.rank ? -1 : 1));
  return ranked.slice(0, most).map(({ proxy }) => proxy);
}
