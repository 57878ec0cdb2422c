import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { agentConfig } from "./cluster-config.ts";
import type { ClusterControl } from "./cluster-control.ts";
import { withPlainHome } from "./plain-home.ts";
import { program } from "./program.ts";
import { type Service, startService } from "./service.ts";
import { until } from "./until.ts";

export interface AgentOptions {
  readonly name: string;
  /** Name of its folder, for a second agent of the same name. */
  readonly folder?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly netns?: string | undefined;
  readonly token?: string;
  /** Name of a join token for pods, with which it joins in place of `token`. */
  readonly podToken?: string;
  readonly pin?: string;
  /** Other than the cluster's own. */
  readonly proxy?: string;
  /** `host:port` of the auth service, which it joins directly; it listens then. */
  readonly authServer?: string;
  /** Another executable than the built one. */
  readonly platform?: string;
  /** Its folder; default: one of the cluster's. */
  readonly dir?: string;
  /** More lines of `ssh_service`, indented by two. */
  readonly sshService?: string;
  /** More lines of `platform`, indented by two. */
  readonly platformSection?: string;
  /** Sections of its services, in place of `ssh_service`. */
  readonly services?: string;
  /** Control groups that it starts in. */
  readonly groups?: readonly string[];
  /** Do not wait until it is connected. */
  readonly noWait?: boolean;
}

export interface Agent extends AsyncDisposable {
  readonly name: string;
  readonly dir: string;
  service: Service;
  start(): void;
  connected(): Promise<void>;
}

/** Writes an agent's configuration and starts it. */
export async function makeAgent(cluster: ClusterControl, options: AgentOptions): Promise<Agent> {
  const dir = options.dir ?? join(cluster.dir, `agent-${options.folder ?? options.name}`);
  await mkdir(dir, { recursive: true });
  const config = join(dir, "platform.yaml");
  const text = agentConfig({
    name: options.name,
    dataDir: join(dir, "data"),
    proxy: options.proxy ?? cluster.proxy,
    authServer: options.authServer,
    token: options.token ?? (options.podToken === undefined ? await cluster.token() : ""),
    podToken: options.podToken,
    pin: options.pin ?? (await cluster.pin()),
    labels: options.labels ?? {},
    more: options.sshService ?? "",
    morePlatform: options.platformSection ?? "",
    services: options.services,
  });
  await writeFile(config, text, { mode: 0o600 });
  const args = ["start", "--config", config, "--pid-file", join(dir, "agent.pid")];
  const [command, all] = options.platform === undefined ? withPlainHome(program("platform"), args) : ([options.platform, args] as const);
  const enter = (options.groups ?? []).map((folder) => `echo $$ >${folder}/cgroup.procs; `).join("");
  const begin = (): Service =>
    startService("sh", ["-c", `${enter}exec "$@"`, "sh", command, ...all], {
      netns: options.netns,
      ...(options.env && { env: options.env }),
    });
  const agent: Agent = {
    name: options.name,
    dir,
    service: begin(),
    start: () => {
      agent.service = begin();
    },
    connected: () =>
      until(`agent ${options.name} is connected`, async () => {
        if (agent.service.exited) throw new Error(agent.service.printed());
        // One that joins the auth service has no tunnel. A tctl for each attempt costs more than all that the agent does until then.
        if (options.authServer === undefined && !agent.service.printed().includes("tunnel is up")) return undefined;
        const nodes = JSON.parse(await cluster.admin("get", "node", "--format=json")) as {
          spec: { hostname: string };
          status?: { connected: boolean };
        }[];
        return nodes.some((node) => node.spec.hostname === options.name && node.status?.connected === true) || undefined;
      }).then(() => {}),
    [Symbol.asyncDispose]: () => agent.service.stop(),
  };
  return agent;
}
