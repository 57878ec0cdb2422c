import { type Cluster, startCluster } from "./cluster.ts";
import type { Agent, AgentOptions } from "./cluster-agent.ts";
import type { User } from "./cluster-user.ts";
import { type Hub, openHub } from "./hub.ts";

type DirectHost = "control" | "one" | "two" | "stranger";

/** Control and agents that join its auth service directly, each in a network namespace of its own. The name web.test is hosts one and two. */
export interface DirectWorld extends AsyncDisposable {
  readonly hosts: Hub<DirectHost>["hosts"];
  readonly cluster: Cluster;
  /** May log in as root. */
  readonly user: User;
  agent(name: string, host: DirectHost, more?: Partial<AgentOptions>): Promise<Agent>;
  /** Of a node, by its name. */
  idOf(name: string): Promise<string>;
}

/** A command that prints the address of the host that it runs on. */
export const printAddress = "ip -4 -o addr show dev e0 | tr -s ' ' | cut -d' ' -f4 | cut -d/ -f1";

/** `split`: auth and proxy service as two processes. */
export async function openDirectWorld({ split = false } = {}): Promise<DirectWorld> {
  await using stack = new AsyncDisposableStack();
  const names = ["one", "two"] as const;
  const hub = stack.use(
    await openHub<DirectHost>(
      ["control", "one", "two", "stranger"],
      names.map((host) => ["web.test", host]),
    ),
  );
  const { netns, address } = hub.hosts.control;
  const cluster = stack.use(await startCluster({ mode: "separate", split, netns, address, name: "control.test" }));
  const user = await cluster.user("alice", { logins: "root" });
  const kept = stack.move();
  return {
    hosts: hub.hosts,
    cluster,
    user,
    agent: (name, host, more = {}) =>
      cluster.agent({ name, netns: hub.hosts[host].netns, authServer: `control.test:${cluster.ports.auth}`, ...more }),
    idOf: async (name) => {
      const nodes = JSON.parse(await cluster.admin("get", "node", "--format=json")) as { metadata: { name: string }; spec: { hostname: string } }[];
      return nodes.find(({ spec }) => spec.hostname === name)?.metadata.name ?? "";
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
