import type { Cluster } from "./cluster.ts";
import { until } from "./until.ts";

interface ClusterStatus {
  readonly proxies: readonly {
    readonly id: string;
    readonly name: string;
    readonly addr: string;
    readonly connected: boolean;
    readonly hosts: number;
  }[];
  readonly warnings: readonly string[];
}

interface ListedHost {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly hostname: string };
  /** Ids of the proxies that it has a tunnel to. */
  readonly status?: { readonly proxies?: readonly string[] };
}

/** What `tctl status` has of the proxies. */
export async function clusterStatus(cluster: Pick<Cluster, "admin">): Promise<ClusterStatus> {
  return JSON.parse(await cluster.admin("status", "--format=json")) as ClusterStatus;
}

/** The host of this name in `tctl nodes ls`; undefined: it is not listed. */
export async function listedHost(cluster: Pick<Cluster, "admin">, hostname: string): Promise<ListedHost | undefined> {
  const nodes = JSON.parse(await cluster.admin("nodes", "ls", "--format=json")) as readonly ListedHost[];
  return nodes.find(({ spec }) => spec.hostname === hostname);
}

/** Names of the proxies that the host has a tunnel to, sorted. */
export async function proxiesOf(cluster: Pick<Cluster, "admin">, hostname: string): Promise<readonly string[]> {
  const held = (await listedHost(cluster, hostname))?.status?.proxies ?? [];
  const { proxies } = await clusterStatus(cluster);
  return proxies
    .filter(({ id }) => held.includes(id))
    .map(({ name }) => name)
    .sort();
}

/** Waits until the host has tunnels to these proxies and to no other. */
export async function connectedTo(cluster: Pick<Cluster, "admin">, hostname: string, names: readonly string[]): Promise<void> {
  const wanted = names.toSorted().join();
  await until(`${hostname} has tunnels to ${wanted}`, async () => (await proxiesOf(cluster, hostname)).join() === wanted);
}
