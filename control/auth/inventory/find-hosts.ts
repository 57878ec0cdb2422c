import type { RecordedHost, TunnelledHost } from "../../../core/resources/directory-host.ts";
import { nodeSchema } from "../../../core/resources/node.ts";
import type { AuthContext } from "../auth-context.ts";
import { documentKey, fromEntry } from "../document.ts";
import { listProxies } from "./cluster-proxies.ts";

/* Hosts that a target may mean and that the requesting proxy has no tunnel to: recorded ones, and those with a tunnel to another proxy. */

/** Maximum number of hosts returned for one name; more are just as ambiguous. */
const maxFound = 100;

/** Hosts matching the target with a tunnel, but none to the requesting proxy. */
export async function findTunnelled(
  context: Pick<AuthContext, "storage" | "live" | "clusterName">,
  target: string,
  asking: string,
): Promise<readonly TunnelledHost[]> {
  const { storage, live, clusterName } = context;
  const elsewhere = live
    .find(target.slice(0, 600), clusterName)
    .slice(0, maxFound)
    .flatMap((id) => {
      const node = live.get(id);
      return node?.connected === true && node.isDialled !== true && !node.proxies.includes(asking) ? [{ id, holding: node.proxies }] : [];
    });
  if (elsewhere.length === 0) return [];
  const known = await listProxies(storage);
  const found = elsewhere.map(async ({ id, holding }) => {
    const entry = await storage.get(`/node/${id}`);
    if (entry === undefined) return [];
    const { metadata, spec } = fromEntry(nodeSchema, entry);
    const proxies = holding.map((proxy) => {
      const { name, addr } = known.find((one) => one.id === proxy) ?? { name: proxy, addr: "" };
      return { id: proxy, name, addr };
    });
    return [{ id, hostname: spec.hostname, labels: metadata.labels ?? {}, proxies }];
  });
  return (await Promise.all(found)).flat();
}

type Context = Pick<AuthContext, "storage" | "live" | "presence" | "names" | "clusterName">;

/**
 * Hosts recorded under the target, except those already returned: a disconnected host keeps its name until its record is removed, so
 * that no other host is taken for it. Disconnected hosts come first.
 */
export async function findRecorded(context: Context, target: string, returned: ReadonlySet<string>): Promise<readonly RecordedHost[]> {
  const { storage, live, names, clusterName } = context;
  const isConnected = (id: string): boolean => live.get(id)?.connected === true;
  const meant = await names.find(target.slice(0, 600), clusterName);
  // The usual case: the only host of that name, which the proxy already knows.
  if (meant.length === 1 && meant.every(isConnected)) return [];
  const ids = meant.filter((id) => !returned.has(id)).sort((a, b) => Number(isConnected(a)) - Number(isConnected(b)));
  const found = ids.slice(0, maxFound).map(async (id) => {
    const entry = await storage.get(documentKey("node", id));
    if (entry === undefined) return [];
    const { metadata, spec } = fromEntry(nodeSchema, entry);
    const since = isConnected(id) ? undefined : awaySince(context, id)?.toISOString();
    return [{ id, hostname: spec.hostname, labels: metadata.labels ?? {}, ...(since !== undefined && { since }) }];
  });
  return (await Promise.all(found)).flat();
}

/** The time since when a host is disconnected; unknown, for a minute, for a host that has not reported since the auth service started. */
export function awaySince({ live, presence }: Pick<Context, "live" | "presence">, id: string): Date | undefined {
  const since = live.get(id)?.since.getTime() ?? presence.absent.get(id)?.since;
  return since === undefined ? undefined : new Date(since);
}

/** Whether another host is recorded under one of these names. */
export async function isShared({ names: recorded, clusterName }: Context, id: string, names: readonly string[]): Promise<boolean> {
  for (const name of new Set(names)) if ((await recorded.find(name, clusterName)).some((other) => other !== id)) return true;
  return false;
}
