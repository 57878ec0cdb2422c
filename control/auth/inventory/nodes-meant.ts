import { canonicalName, namesMeant } from "../../../core/identity/cluster-names.ts";
import type { Node } from "../../../core/resources/node.ts";
import type { AuthContext } from "../auth-context.ts";
import { listOpensshNodes } from "./all-nodes.ts";
import { findDirectHosts } from "./direct-hosts.ts";
import { findHost } from "./host-records.ts";

/** Maximum number of hosts returned for one name; more are just as ambiguous. */
const maxFound = 100;

/** The recorded hosts, with and without an agent, that a target of a user may mean, as proxies find them: an id, a name, or either followed by `.cluster`. */
export async function nodesMeant(context: AuthContext, target: string): Promise<readonly Node[]> {
  const { storage, live, names, clusterName } = context;
  const text = target.slice(0, 600);
  const direct = (await findDirectHosts(storage, text, clusterName)).map(({ id }) => id);
  const ids = new Set([...(await names.find(text, clusterName)), ...live.find(text, clusterName), ...direct, ...namesMeant(text, clusterName)]);
  const found = await Promise.all([...ids].slice(0, maxFound).map(async (id) => await findHost(storage, "node", id)));
  const meant = new Set(namesMeant(text, clusterName));
  const openssh = (await listOpensshNodes(storage)).filter(
    ({ metadata, spec }) => meant.has(canonicalName(metadata.name)) || meant.has(canonicalName(spec.hostname)),
  );
  return [...found.flatMap((node) => node ?? []), ...openssh];
}
