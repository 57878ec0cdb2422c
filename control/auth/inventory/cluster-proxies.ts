import { createHash } from "node:crypto";
import { z } from "zod";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Node } from "../../../core/resources/node.ts";
import type { ClusterProxy, ProxyState } from "../../../core/resources/proxy.ts";
import type { Storage } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import { findHost } from "./host-records.ts";
import type { LiveNodes } from "./live-nodes.ts";

/** Proxies to which agents keep tunnels: durable, so that a restart of the auth service removes none from the list. */
export const clusterProxiesPrefix = "/cluster_proxy/";

/** Lease of a proxy, ms: one that is disconnected for longer leaves the list, and agents stop trying. */
export const proxyLeaseMs = 10 * 60_000;
const recordSchema = z.object({ addr: z.string(), since: z.string() });

export function clusterProxyKey(id: string): string {
  return `${clusterProxiesPrefix}${id}`;
}

/**
 * Records that a proxy has connected, and its address. Nothing is written for one on the list, unless it was lost (`cameBack`): after
 * a restart of the auth service all proxies connect again, which does not concern the agents.
 */
export async function keepClusterProxy(
  { storage, now }: Pick<AuthContext, "storage" | "now">,
  { id, addr, cameBack }: { id: string; addr: string; cameBack: boolean },
): Promise<void> {
  const entry = await storage.get(clusterProxyKey(id));
  const known = entry === undefined ? undefined : recordSchema.safeParse(JSON.parse(entry.value)).data;
  if (known?.addr === addr && !cameBack) return;
  await storage.put({ key: clusterProxyKey(id), value: JSON.stringify({ addr, since: now().toISOString() }) });
}

/** Proxies on the list, by id. */
export async function listProxies(storage: Storage): Promise<readonly ClusterProxy[]> {
  const entries = await storage.list(clusterProxiesPrefix);
  const proxies = entries.map(async ({ key, value }) => {
    const id = key.slice(clusterProxiesPrefix.length);
    const record = recordSchema.safeParse(JSON.parse(value)).data;
    const host: Node | undefined = await findHost(storage, "proxy", id);
    return record === undefined || host === undefined ? [] : [{ id, name: host.spec.hostname, ...record }];
  });
  return (await Promise.all(proxies)).flat();
}

/** Changes whenever the list does. */
export async function proxiesRevision(storage: Storage): Promise<string> {
  const facts = (await storage.list(clusterProxiesPrefix)).map(({ key, value }) => [key, value]);
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 16);
}

/** The list with live state. */
export async function proxyStates({ storage, live, proxies }: Pick<AuthContext, "storage" | "live" | "proxies">): Promise<readonly ProxyState[]> {
  const hosts = tunnelCounts(live);
  return (await listProxies(storage)).map((proxy) => ({ ...proxy, connected: proxies.isConnected(proxy.id), hosts: hosts.get(proxy.id) ?? 0 }));
}

function tunnelCounts(live: LiveNodes): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [, node] of live.all()) for (const id of node.proxies) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

type Watched = Pick<AuthContext, "storage" | "proxies" | "log">;

/** Call this every few seconds: removes proxies whose lease has ended. Never throws. */
export async function dropLostProxies(context: Watched): Promise<void> {
  await dropExpired(context).catch((error: unknown) => context.log.error("could not check the list of proxies", { error: errorText(error) }));
}

async function dropExpired({ storage, proxies, log }: Watched): Promise<void> {
  for (const { id, name, addr } of await listProxies(storage)) {
    if (proxies.goneForMs(id) < proxyLeaseMs) continue;
    log.warn("a proxy has not been connected for its lease: agents stop trying to reach it", {
      proxy: id,
      name,
      addr,
      lease: `${proxyLeaseMs / 60_000} min`,
    });
    await storage.delete(clusterProxyKey(id));
  }
}
