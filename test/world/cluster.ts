import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "./free-port.ts";
import { currentStep, oneTimeCode } from "./one-time-code.ts";
import { type Finished, output, program, type RunOptions, run } from "./program.ts";
import { type Service, startService } from "./service.ts";
import { until } from "./until.ts";

export interface ClusterOptions {
  readonly mode?: "multiplex" | "separate";
  /** Where control listens; default 127.0.0.1. */
  readonly address?: string;
  /** Name that clients and agents use for it; default the address. */
  readonly name?: string;
  readonly netns?: string | undefined;
  /** Auth and proxy service as two processes with a data folder each. */
  readonly split?: boolean;
}

export interface Ports {
  readonly web: number;
  readonly auth: number;
  readonly ssh: number;
  readonly tunnel: number;
}

/** A control server of its own folder and ports, run from the executable. */
export interface Cluster extends AsyncDisposable {
  readonly dir: string;
  readonly ports: Ports;
  /** `name:port` of the web address. */
  readonly proxy: string;
  control: Service;
  /** The second process of a split control. */
  proxyService: Service | undefined;
  restart(): Promise<void>;
  tctl(args: readonly string[], options?: RunOptions): Promise<Finished>;
  /** A tctl that must succeed; its standard output. */
  admin(...args: string[]): Promise<string>;
  pin(): Promise<string>;
  token(...args: string[]): Promise<string>;
  agent(options: AgentOptions): Promise<Agent>;
  user(name: string, options?: UserOptions): Promise<User>;
}

export interface AgentOptions {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly netns?: string | undefined;
  readonly token?: string;
  readonly pin?: string;
  /** Other than the cluster's own. */
  readonly proxy?: string;
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

export interface UserOptions {
  readonly roles?: string;
  readonly logins?: string;
  /** Invite and accept, but do not log in. */
  readonly noLogin?: boolean;
}

export interface User {
  readonly name: string;
  readonly home: string;
  readonly password: string;
  /** A code that has not been used yet: waits for the next one when it must. */
  code(): Promise<string>;
  login(...args: string[]): Promise<Finished>;
  tsh(args: readonly string[], options?: RunOptions): Promise<Finished>;
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const dir = await mkdtemp(join(tmpdir(), "platform-world-"));
  const [web, auth, ssh, tunnel] = (await freePorts(4)) as [number, number, number, number];
  const address = options.address ?? "127.0.0.1";
  const proxy = `${options.name ?? address}:${web}`;
  const config = join(dir, "control.yaml");
  const netns = options.netns;
  const facts = { dir, address, name: options.name ?? address, ports: { web, auth, ssh, tunnel }, mode: options.mode ?? "multiplex" };
  await writeFile(config, options.split === true ? authConfig(facts) : controlConfig(facts), { mode: 0o600 });
  const begin = (): Service => startService(program("platform"), ["start", "--config", config, "--pid-file", join(dir, "control.pid")], { netns });
  const beginProxy = async (): Promise<Service> => {
    const file = join(dir, "proxy.yaml");
    await until("the auth service answers", async () => (await cluster.tctl(["status"])).status === 0);
    const token = await cluster.token("--type=proxy");
    await writeFile(file, proxyConfig(facts, { token, pin: await cluster.pin() }), { mode: 0o600 });
    return startService(program("platform"), ["start", "--config", file, "--pid-file", join(dir, "proxy.pid")], { netns });
  };
  const ready = async (): Promise<void> => {
    await until(`control answers on ${proxy}`, async () => {
      if (cluster.control.exited) throw new Error(cluster.control.printed());
      return (await run("curl", ["-ksf", "--max-time", "2", `https://${proxy}/webapi/ping`], { netns })).status === 0;
    });
  };
  const agents: Agent[] = [];
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
    tctl: (args, more = {}) =>
      run(program("tctl"), args, { netns, ...more, env: { PLATFORM_DATA_DIR: join(dir, "control"), TSH_HOME: join(dir, "no-tsh"), ...more.env } }),
    admin: async (...args) => {
      const done = await cluster.tctl(args);
      if (done.status !== 0) throw new Error(`tctl ${args.join(" ")}: exit ${done.status}\n${done.stdout}${done.stderr}`);
      return done.stdout;
    },
    pin: async () => /sha256:[0-9a-f]{64}/.exec(await cluster.admin("status"))?.[0] ?? "",
    token: async (...args) => {
      const type = args.some((arg) => arg.startsWith("--type")) ? [] : ["--type=node"];
      const made = JSON.parse(await cluster.admin("tokens", "add", ...type, "--format=json", ...args)) as { secret?: string; token?: string };
      return made.secret ?? made.token ?? "";
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
      await cluster.proxyService?.stop();
      await cluster.control.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
  if (options.split === true) cluster.proxyService = await beginProxy();
  await ready();
  return cluster;
}

interface ControlFacts {
  readonly dir: string;
  readonly address: string;
  readonly name: string;
  readonly ports: Ports;
  readonly mode: string;
}

function controlConfig({ dir, address, name, ports, mode }: ControlFacts): string {
  const separate = mode === "separate" ? `  listen_addr: ${address}:${ports.ssh}\n  tunnel_listen_addr: ${address}:${ports.tunnel}\n` : "";
  return `version: v3
platform:
  nodename: control
  data_dir: ${join(dir, "control")}
auth_service:
  enabled: yes
  cluster_name: test.cluster
  listen_addr: ${address}:${ports.auth}
  proxy_listener_mode: ${mode}
proxy_service:
  enabled: yes
  web_listen_addr: ${address}:${ports.web}
  public_addr: ${name}:${ports.web}
${separate}ssh_service:
  enabled: no
`;
}

function authConfig({ dir, address, ports, mode }: ControlFacts): string {
  return `version: v3
platform:
  nodename: auth
  data_dir: ${join(dir, "control")}
auth_service:
  enabled: yes
  cluster_name: test.cluster
  listen_addr: ${address}:${ports.auth}
  proxy_listener_mode: ${mode}
proxy_service:
  enabled: no
ssh_service:
  enabled: no
`;
}

function proxyConfig({ dir, address, name, ports }: ControlFacts, trust: { token: string; pin: string }): string {
  return `version: v3
platform:
  nodename: proxy
  data_dir: ${join(dir, "proxy")}
  auth_server: ${name}:${ports.auth}
  auth_token: ${trust.token}
  ca_pin: ${trust.pin}
auth_service:
  enabled: no
proxy_service:
  enabled: yes
  web_listen_addr: ${address}:${ports.web}
  public_addr: ${name}:${ports.web}
ssh_service:
  enabled: no
`;
}

async function makeAgent(cluster: Cluster, options: AgentOptions): Promise<Agent> {
  const dir = join(cluster.dir, `agent-${options.name}`);
  await mkdir(dir, { recursive: true });
  const config = join(dir, "platform.yaml");
  const labels = Object.entries(options.labels ?? {}).map(([key, value]) => `    ${key}: ${JSON.stringify(value)}\n`);
  const text = `version: v3
platform:
  nodename: ${options.name}
  data_dir: ${join(dir, "data")}
  proxy_server: ${options.proxy ?? cluster.proxy}
  auth_token: ${options.token ?? (await cluster.token())}
  ca_pin: ${options.pin ?? (await cluster.pin())}
auth_service:
  enabled: no
proxy_service:
  enabled: no
ssh_service:
  enabled: yes
${labels.length > 0 ? `  labels:\n${labels.join("")}` : ""}`;
  await writeFile(config, text, { mode: 0o600 });
  const begin = (): Service =>
    startService(program("platform"), ["start", "--config", config, "--pid-file", join(dir, "agent.pid")], {
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

async function makeUser(cluster: Cluster, options: UserOptions & { name: string; netns?: string | undefined }): Promise<User> {
  const { name, netns } = options;
  const password = randomBytes(12).toString("base64url");
  const home = join(cluster.dir, `home-${name}`);
  const invited = await cluster.admin("users", "add", name, `--roles=${options.roles ?? "access"}`, `--logins=${options.logins ?? "root"}`);
  const token = /\/web\/invite\/([0-9a-f]+)/.exec(invited)?.[1];
  if (token === undefined) throw new Error(`no invite link in: ${invited}`);
  const url = `https://${cluster.proxy}/v1/webapi/users/invite/${token}`;
  const { otpauth_uri: uri } = JSON.parse(await output("curl", ["-ksf", url], { netns })) as { otpauth_uri: string };
  let used = currentStep();
  const answer = JSON.stringify({ password, code: oneTimeCode(uri, used) });
  await output("curl", ["-ksf", "-H", "content-type: application/json", "--data-binary", "@-", url], { netns, input: answer });
  const pin = await cluster.pin();
  const user: User = {
    name,
    home,
    password,
    code: async () => {
      // The service takes the code of the next step too, and each step once.
      used = await until(
        "a fresh one-time code",
        () => {
          const now = currentStep();
          if (now > used) return now;
          return used === now ? now + 1 : undefined;
        },
        65_000,
      );
      return oneTimeCode(uri, used);
    },
    login: async (...args) =>
      user.tsh(["login", `--proxy=${cluster.proxy}`, `--user=${name}`, `--ca-pin=${pin}`, ...args], { input: `${password}\n${await user.code()}\n` }),
    tsh: (args, more = {}) => run(program("tsh"), args, { netns, ...more, env: { TSH_HOME: home, ...more.env } }),
  };
  if (options.noLogin !== true) {
    const done = await user.login();
    if (done.status !== 0) throw new Error(`tsh login: exit ${done.status}\n${done.stdout}${done.stderr}`);
  }
  return user;
}
