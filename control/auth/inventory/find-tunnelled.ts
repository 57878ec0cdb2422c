import { nodeSchema } from "../../../core/resources/node.ts";
import type { TunnelledHost } from "../../../core/resources/tunnelled-host.ts";
import type { AuthContext } from "../auth-context.ts";
import { fromEntry } from "../documents/document.ts";
import { listProxies } from "./cluster-proxies.ts";

/** Maximum number of hosts returned for one name; more are just as ambiguous. */
const maxFound = 100;

type Context = Pick<AuthContext, "storage" | "live" | "clusterName">;

/** Hosts matching the target with a tunnel, but none to the requesting proxy. */
export async function findTunnelled(context: Context, target: string, asking: string): Promise<readonly TunnelledHost[]> {
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
