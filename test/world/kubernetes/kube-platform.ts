import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { type Cluster, type ClusterOptions, startCluster } from "../cluster.ts";
import type { Agent } from "../cluster-agent.ts";
import type { User } from "../cluster-user.ts";
import { cleanEnv, type Finished, type RunOptions, run } from "../program.ts";
import { putRole } from "../put-role.ts";
import { until } from "../until.ts";
import type { KubeWorld } from "./kube-world.ts";
import { type KubectlVersion, kubectl } from "./kubectl.ts";

/** Everything, as far as the agent decides. */
export const allResources = [{ kind: "*", namespace: "*", name: "*", verbs: ["*"] }];

/** What a role says of Kubernetes, beside its labels. */
export interface KubeRole {
  readonly kubernetes_users?: readonly string[];
  readonly kubernetes_groups?: readonly string[];
  readonly kubernetes_resources?: readonly object[];
}

/** A user whose kubeconfig `tsh kube login` has written. */
export interface KubeUser {
  readonly user: User;
  /** Path. */
  readonly kubeconfig: string;
  readonly env: Readonly<Record<string, string>>;
  kubectl(version: KubectlVersion, args: readonly string[], options?: RunOptions): Promise<Finished>;
  /** What the kubeconfig and its plugin give to a client. */
  entrance(): Promise<Entrance>;
}

/** Where a client of Kubernetes connects to, and what it needs for TLS; PEM. */
export interface Entrance {
  readonly host: string;
  readonly port: number;
  /** Before the path of the API server. */
  readonly prefix: string;
  readonly servername: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface KubePlatformOptions extends ClusterOptions {
  /** Name of the Kubernetes cluster. */
  readonly kube?: string;
  /** Network namespace of the agent, connected to the API server already. */
  readonly agentNetns?: string;
  readonly agentEnv?: Readonly<Record<string, string>>;
  /** The agent joins the auth service directly, and listens. */
  readonly direct?: boolean;
  /** Kubeconfig of the agent, default: of a service account. */
  readonly kubeconfig?: string;
  /** More lines of the agent's `kubernetes_service`, indented by two. */
  readonly kubeService?: string;
}

/** A cluster of ours with one agent, which offers a real Kubernetes cluster with the label `env: test`. */
export class KubePlatform implements AsyncDisposable {
  readonly world: Pick<KubeWorld, "agentKubeconfig">;
  readonly cluster: Cluster;
  /** Name of the Kubernetes cluster. */
  readonly kube: string;
  readonly #netns: string | undefined;
  /** Those that were started, the first one first. */
  readonly agents: Agent[] = [];

  private constructor(world: Pick<KubeWorld, "agentKubeconfig">, cluster: Cluster, { kube = "prod", netns }: KubePlatformOptions) {
    this.world = world;
    this.cluster = cluster;
    this.kube = kube;
    this.#netns = netns;
  }

  static async open(world: Pick<KubeWorld, "agentKubeconfig">, options: KubePlatformOptions = {}): Promise<KubePlatform> {
    const cluster = await startCluster(options);
    const platform = new KubePlatform(world, cluster, options);
    await platform.agent(options);
    return platform;
  }

  /** One more agent that offers the cluster. */
  async agent({
    agentNetns,
    agentEnv,
    kubeconfig,
    direct = false,
    labels = "env: test",
    kubeService = "",
  }: KubePlatformOptions & { readonly labels?: string } = {}): Promise<Agent> {
    const file = kubeconfig ?? (await this.world.agentKubeconfig(this.kube));
    const agent = await this.cluster.agent({
      name: `kube-${this.agents.length + 1}`,
      token: await this.cluster.token("--type=kube"),
      services: `kubernetes_service:\n  enabled: yes\n  kubeconfig_file: ${file}\n  labels: { ${labels} }\n${kubeService}`,
      noWait: true,
      netns: agentNetns,
      ...(direct && { authServer: `${this.cluster.proxy.replace(/:\d+$/, "")}:${this.cluster.ports.auth}` }),
      ...(agentEnv && { env: agentEnv }),
    });
    this.agents.push(agent);
    return agent;
  }

  /** A user of one role of his own, who has logged in to the cluster, and to the Kubernetes cluster. */
  async user(name: string, allow: KubeRole, more: { readonly deny?: object; readonly options?: object } = {}): Promise<KubeUser> {
    const role = `role-of-${name}`;
    await putRole(this.cluster, role, {
      options: more.options ?? {},
      allow: { kubernetes_labels: { env: "test" }, ...allow },
      ...(more.deny && { deny: more.deny }),
    });
    const user = await this.cluster.user(name, { roles: role });
    const kubeconfig = join(user.home, "kubeconfig");
    const env = { HOME: user.home, TSH_HOME: user.home, KUBECONFIG: kubeconfig };
    await until("the agent offers the cluster, and the user has logged in to it", async () => {
      const done = await user.tsh(["kube", "login", this.kube], { env });
      if (done.status !== 0) throw new Error(`tsh kube login: ${done.stdout}${done.stderr}`);
      return true;
    });
    return {
      ...{ user, kubeconfig, env },
      kubectl: async (version, args, options = {}) =>
        run(await kubectl(version), args, { netns: this.#netns, ...options, env: { ...env, ...options.env } }),
      entrance: () => entranceOf(kubeconfig, env),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster[Symbol.asyncDispose]();
  }
}

interface AdminKubeconfig {
  readonly users: readonly { readonly user: Readonly<Record<"client-certificate-data" | "client-key-data", string>> }[];
}

/** Where the API server's admin connects to, not through us. */
export async function adminEntrance({ apiServerUrl, ca, adminKubeconfig }: KubeWorld): Promise<Entrance> {
  const { users } = JSON.parse(await readFile(adminKubeconfig, "utf8")) as AdminKubeconfig;
  const pem = (name: "client-certificate-data" | "client-key-data"): string => Buffer.from(users[0]?.user[name] ?? "", "base64").toString();
  const { hostname, port } = new URL(apiServerUrl);
  return {
    ...{ host: hostname, port: Number(port), prefix: "", servername: "kubernetes", ca },
    ...{ cert: pem("client-certificate-data"), key: pem("client-key-data") },
  };
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: Readonly<Record<"server" | "certificate-authority-data" | "tls-server-name", string>> }[];
  readonly users: readonly {
    readonly user: {
      readonly exec: {
        readonly command: string;
        readonly args: readonly string[];
        readonly env?: readonly { readonly name: string; readonly value: string }[];
      };
    };
  }[];
}

async function entranceOf(file: string, env: Readonly<Record<string, string>>): Promise<Entrance> {
  const config = parse(await readFile(file, "utf8")) as Kubeconfig;
  const [entry, user] = [config.clusters[0]?.cluster, config.users[0]?.user.exec];
  if (entry === undefined || user === undefined) throw new Error(`no entries in ${file}`);
  const own = Object.fromEntries((user.env ?? []).map(({ name, value }) => [name, value]));
  const done = await run(user.command, user.args, { env: cleanEnv({ ...env, ...own }) });
  if (done.status !== 0) throw new Error(`${user.command} ${user.args.join(" ")}: ${done.stderr}`);
  const { status } = JSON.parse(done.stdout) as { status: { clientCertificateData: string; clientKeyData: string } };
  const url = new URL(entry.server);
  return {
    ...{ host: url.hostname, port: Number(url.port), prefix: url.pathname.replace(/\/$/, "") },
    servername: entry["tls-server-name"],
    ca: Buffer.from(entry["certificate-authority-data"], "base64").toString(),
    ...{ cert: status.clientCertificateData, key: status.clientKeyData },
  };
}
