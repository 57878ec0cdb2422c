import { baseName } from "../../../core/identity/cluster-names.ts";
import { directHostSchema } from "../../../core/resources/directory-host.ts";
import { nodeSchema } from "../../../core/resources/node.ts";
import type { HostRole } from "../../../core/resources/token.ts";
import { parseHostPort } from "../../../core/transport/host-port.ts";
import type { Storage } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import { fromEntry } from "../document.ts";
import type { OtherNames } from "../tokens/host-names.ts";
import { opensshPrefix } from "./all-nodes.ts";
import { directHostPrefix } from "./direct-hosts.ts";
import { nodeNamesPrefix, proxyNames, readNodeNames } from "./host-records.ts";

/** The reasons why nodes lack requested names, by id. */
export async function refusedNames(storage: Storage): Promise<ReadonlyMap<string, readonly string[]>> {
  const all = (await storage.list(nodeNamesPrefix)).map(
    ({ key, value }) => [key.slice(nodeNamesPrefix.length), readNodeNames(value).refused] as const,
  );
  return new Map(all.filter(([, refused]) => refused.length > 0));
}

type Context = Pick<AuthContext, "storage" | "clusterName" | "nodename">;

/** Names of the cluster and of all hosts but this one. A proxy keeps the names that it announced before, even if a node has one since. */
export async function otherNames(context: Context, self: { role: HostRole; id: string }): Promise<OtherNames> {
  const { storage, clusterName: cluster } = context;
  const base = (name: string): string => baseName(name, cluster);
  const { services, proxies, kept } = await namesOfProxies(context, self.id);
  const entries = [...(await storage.list("/node/")), ...(await storage.list(opensshPrefix))];
  const nodes = entries.map((entry) => fromEntry(nodeSchema, entry)).filter(({ metadata }) => metadata.name !== self.id);
  const hostnames = new Map(nodes.map(({ metadata, spec }) => [metadata.name, base(spec.hostname)]));
  const registered = nodes.flatMap(({ sub_kind: kind, metadata }) => (kind === "openssh" ? [base(metadata.name)] : []));
  const shared = await sharedNames(context);
  const more = new Map<string, string[]>();
  for (const { key, value } of await storage.list(nodeNamesPrefix)) {
    const id = key.slice(nodeNamesPrefix.length);
    const hostname = hostnames.get(id);
    if (hostname === undefined) continue;
    for (const name of new Set(readNodeNames(value).names.map(base))) {
      if (name === hostname || kept.has(name) || shared.get(id)?.has(name) === true) continue;
      more.set(name, [...(more.get(name) ?? []), hostname]);
    }
  }
  return { services, proxies, nodes: new Set([...hostnames.values(), ...registered].filter((name) => !kept.has(name))), more };
}

async function namesOfProxies({ storage, clusterName, nodename }: Context, self: string) {
  const base = (name: string): string => baseName(name, clusterName);
  const hostnames = new Map(
    (await storage.list("/proxy/")).map((entry) => fromEntry(nodeSchema, entry)).map(({ metadata, spec }) => [metadata.name, base(spec.hostname)]),
  );
  const proxies = new Set(hostnames.values());
  // A cluster named like its host, which is the default, leaves the name to that host.
  const isHosts = base(clusterName) === base(nodename) || proxies.has(base(clusterName));
  const services = new Set(isHosts ? [] : [base(clusterName)]);
  let kept: ReadonlySet<string> = new Set();
  for (const [id, announced] of await proxyNames(storage)) {
    const names = announced.map(base);
    if (id === self) kept = new Set(names);
    for (const name of names) if (name !== hostnames.get(id)) services.add(name);
  }
  return { services, proxies, kept };
}

/** Names that hosts announce as shared with other hosts: by id. */
async function sharedNames({ storage, clusterName }: Context): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const hosts = (await storage.list(directHostPrefix)).map(({ value }) => directHostSchema.parse(JSON.parse(value)));
  const names = (shared: readonly string[]): readonly string[] =>
    shared.map((address) => baseName(parseHostPort(address, undefined, "address").host, clusterName));
  return new Map(hosts.map(({ id, shared }) => [id, new Set(names(shared))]));
}
