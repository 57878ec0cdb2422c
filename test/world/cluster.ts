import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clusterAdmin } from "./cluster-admin.ts";
import { type Agent, type AgentOptions, makeAgent } from "./cluster-agent.ts";
import { authConfig, controlConfig, proxyConfig } from "./cluster-config.ts";
import type { ClusterControl } from "./cluster-control.ts";
import { makeProxy, type ProxyOptions, type ProxyProcess } from "./cluster-proxy.ts";
import { makeUser, type User, type UserOptions } from "./cluster-user.ts";
import { freePorts } from "./free-port.ts";
import { program, run } from "./program.ts";
import { type Service, startService } from "./service.ts";
import { tctlInside } from "./tctl-inside.ts";
import { until } from "./until.ts";

export interface ClusterOptions {
  readonly mode?: "multiplex" | "separate";
  /** Where control listens; default 127.0.0.1. */
  readonly address?: string;
  /** Name that clients and agents use for it; default the address. */
  readonly name?: string;
  /** Host name that browsers know it by, in `public_addr`; default: `name`. */
  readonly publicHost?: string;
  readonly netns?: string | undefined;
  /** Another executable than the built one, for services. */
  readonly platform?: string;
  /** More environment of control. */
  readonly env?: Readonly<Record<string, string>>;
  /** Auth and proxy service as two processes with a data folder each. */
  readonly split?: boolean;
  /** Certificate of the web address, as of `makeCertificate`; default: one of the cluster's own authority. */
  readonly keypair?: { readonly certFile: string; readonly keyFile: string };
  /** More lines of `proxy_service`, indented by two. */
  readonly proxyService?: string;
  /** More lines of `auth_service`, indented by two. */
  readonly authService?: string;
}

/** A control server of its own folder and ports, run from the executable. */
export interface Cluster extends ClusterControl, AsyncDisposable {
  control: Service;
  /** The second process of a split control. */
  proxyService: Service | undefined;
  restart(): Promise<void>;
  /** Starts the second process of a split control again. */
  restartProxy(): Promise<void>;
  /** One more proxy of a split cluster, which has joined and answers. */
  addProxy(options: ProxyOptions): Promise<ProxyProcess>;
  agent(options: AgentOptions): Promise<Agent>;
  user(name: string, options?: UserOptions): Promise<User>;
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const dir = await mkdtemp(join(tmpdir(), "platform-world-"));
  const [web, auth, ssh, tunnel] = (await freePorts(4)) as [number, number, number, number];
  const address = options.address ?? "127.0.0.1";
  const proxy = `${options.name ?? address}:${web}`;
  const config = join(dir, "control.yaml");
  const netns = options.netns;
  const facts = {
    dir,
    address,
    name: options.name ?? address,
    publicHost: options.publicHost ?? options.name ?? address,
    ports: { web, auth, ssh, tunnel },
    mode: options.mode ?? "multiplex",
    more: moreOf(options),
    moreAuth: options.authService ?? "",
  };
  await writeFile(config, options.split === true ? authConfig(facts) : controlConfig(facts), { mode: 0o600 });
  const { platform = program("platform"), env = {} } = options;
  const begin = (): Service => startService(platform, ["start", "--config", config, "--pid-file", join(dir, "control.pid")], { netns, env });
  const beginProxy = async (): Promise<Service> => {
    const file = join(dir, "proxy.yaml");
    await until("the auth service answers", async () => (await cluster.tctl(["status"])).status === 0);
    const token = await cluster.token("--type=proxy");
    await writeFile(file, proxyConfig(facts, { token, pin: await cluster.pin() }), { mode: 0o600 });
    return startProxyService();
  };
  const startProxyService = (): Service =>
    startService(platform, ["start", "--config", join(dir, "proxy.yaml"), "--pid-file", join(dir, "proxy.pid")], { netns, env });
  const ready = async (): Promise<void> => {
    await until(`control answers on ${proxy}`, async () => {
      if (cluster.control.exited) throw new Error(cluster.control.printed());
      return (await run("curl", ["-ksf", "--max-time", "2", `https://${proxy}/webapi/ping`], { netns })).status === 0;
    });
  };
  const adminEnv = { PLATFORM_DATA_DIR: join(dir, "control"), TSH_HOME: join(dir, "no-tsh") };
  const agents: Agent[] = [];
  const proxies: ProxyProcess[] = [];
  const cluster: Cluster = {
    dir,
    ports: { web, auth, ssh, tunnel },
    proxy,
    control: begin(),
    proxyService: undefined,
    restart: async () => {
      await cluster.control.stop();
      cluster.control = begin();
      await ready();
    },
    restartProxy: async () => {
      await cluster.proxyService?.stop();
      cluster.proxyService = startProxyService();
      await ready();
    },
    ...clusterAdmin(
      (args, more = {}) => run(program("tctl"), args, { netns, ...more, env: { ...adminEnv, ...more.env } }),
      netns === undefined ? (args, { input = "" } = {}) => tctlInside(args, adminEnv, input.toString()) : undefined,
    ),
    addProxy: async (wanted) => {
      const made = await makeProxy(cluster, { platform, netns, ...facts, ...wanted });
      proxies.push(made);
      await made.answers();
      return made;
    },
    agent: async (wanted) => {
      const agent = await makeAgent(cluster, wanted);
      agents.push(agent);
      if (wanted.noWait !== true) await agent.connected();
      return agent;
    },
    user: (name, wanted = {}) => makeUser(cluster, { name, netns, ...wanted }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(agents.map((agent) => agent.service.stop()));
      await Promise.all(proxies.map(({ service }) => service.stop()));
      await cluster.proxyService?.stop();
      await cluster.control.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
  try {
    if (options.split === true) cluster.proxyService = await beginProxy();
    await ready();
    return cluster;
  } catch (thrown) {
    await cluster[Symbol.asyncDispose]();
    throw thrown;
  }
}

function moreOf({ keypair, proxyService = "" }: ClusterOptions): string {
  if (keypair === undefined) return proxyService;
  return `  https_keypairs:\n    - cert_file: ${keypair.certFile}\n      key_file: ${keypair.keyFile}\n${proxyService}`;
}
