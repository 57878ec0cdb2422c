import { join } from "node:path";
import type { Cluster } from "./cluster.ts";
import type { Agent, AgentOptions } from "./cluster-agent.ts";
import type { OwnRoot } from "./own-root.ts";
import { until } from "./until.ts";

/** An agent in a root of its own. */
export interface HostInRoot {
  readonly agent: Agent;
  /** SIGKILL of the agent's process, and of nothing else. */
  kill(): Promise<void>;
  /** Starts it again and waits until it is connected. */
  again(): Promise<void>;
}

export async function hostInRoot(
  cluster: Cluster,
  root: OwnRoot,
  options: Pick<AgentOptions, "name" | "labels" | "sshService">,
): Promise<HostInRoot> {
  const agent = await cluster.agent({ ...options, dir: join(root.shared, `agent-${options.name}`), platform: root.platform });
  const gone = () => until("the proxy has seen the end of the agent", async () => (await nodeOf(cluster, options.name))?.status?.connected === false);
  return {
    agent,
    kill: async () => {
      // The process that we started only waits for it.
      await root.sh(`kill -9 $(cat ${join(agent.dir, "agent.pid")})`);
      await gone();
    },
    again: async () => {
      agent.start();
      await agent.connected();
    },
  };
}

async function nodeOf(cluster: Cluster, name: string) {
  const nodes = JSON.parse(await cluster.admin("get", "node", "--format=json")) as { spec: { hostname: string }; status?: { connected: boolean } }[];
  return nodes.find((node) => node.spec.hostname === name);
}
