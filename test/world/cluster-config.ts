import { join } from "node:path";

export interface Ports {
  readonly web: number;
  readonly auth: number;
  readonly ssh: number;
  readonly tunnel: number;
}

export interface ControlFacts {
  readonly dir: string;
  readonly address: string;
  readonly name: string;
  /** Host of `public_addr`; default: `name`. */
  readonly publicHost?: string;
  readonly ports: Ports;
  readonly mode: string;
  /** More lines of `proxy_service`. */
  readonly more?: string;
  /** More lines of `auth_service`. */
  readonly moreAuth?: string;
}

export interface ProxyFacts extends ControlFacts {
  /** Name of its host and its folder. */
  readonly proxy?: string;
  /** Empty: the configuration names none. */
  readonly publicAddr?: string;
}

/** Auth and proxy service in one process. */
export function controlConfig(facts: ControlFacts): string {
  const { address, name, publicHost = name, ports, mode, more = "" } = facts;
  const separate = mode === "separate" ? `  listen_addr: ${address}:${ports.ssh}\n  tunnel_listen_addr: ${address}:${ports.tunnel}\n` : "";
  return `${authSections("control", facts)}proxy_service:
  enabled: yes
  web_listen_addr: ${address}:${ports.web}
  public_addr: ${publicHost}:${ports.web}
${separate}${more}ssh_service:
  enabled: no
`;
}

/** The auth service alone. */
export function authConfig(facts: ControlFacts): string {
  return `${authSections("auth", facts)}proxy_service:
  enabled: no
ssh_service:
  enabled: no
`;
}

function authSections(nodename: string, { dir, address, ports, mode, moreAuth = "" }: ControlFacts): string {
  return `version: v3
platform:
  nodename: ${nodename}
  data_dir: ${join(dir, "control")}
auth_service:
  enabled: yes
  cluster_name: test.cluster
  listen_addr: ${address}:${ports.auth}
  proxy_listener_mode: ${mode}
${moreAuth}`;
}

/** The proxy service alone: it joins the auth service. */
export function proxyConfig(
  { dir, address, name, ports, more = "", proxy = "proxy", publicAddr = `${name}:${ports.web}` }: ProxyFacts,
  trust: { token: string; pin: string },
): string {
  return `version: v3
platform:
  nodename: ${proxy}
  data_dir: ${join(dir, proxy)}
  auth_server: ${name}:${ports.auth}
  auth_token: ${trust.token}
  ca_pin: ${trust.pin}
auth_service:
  enabled: no
proxy_service:
  enabled: yes
  web_listen_addr: ${address}:${ports.web}
${publicAddr === "" ? "" : `  public_addr: ${publicAddr}\n`}${more}ssh_service:
  enabled: no
`;
}

export interface AgentFacts {
  readonly name: string;
  /** Left out: the one that it has by itself. */
  readonly dataDir?: string;
  readonly proxy: string;
  /** It joins the auth service here, and listens. */
  readonly authServer?: string | undefined;
  readonly token: string;
  /** Name of a join token for pods, with which it joins in place of `token`. */
  readonly podToken?: string | undefined;
  /** Empty: the configuration names none. */
  readonly pin: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** More lines of `ssh_service`. */
  readonly more?: string;
  /** More lines of `platform`. */
  readonly morePlatform?: string;
  /** Sections of its services, in place of ssh_service. */
  readonly services?: string | undefined;
}

export function agentConfig({
  name,
  dataDir,
  proxy,
  authServer,
  token,
  podToken,
  pin,
  labels = {},
  more = "",
  morePlatform = "",
  services,
}: AgentFacts): string {
  const lines = Object.entries(labels).map(([key, value]) => `    ${key}: ${JSON.stringify(value)}\n`);
  return `version: v3
platform:
  nodename: ${name}
${dataDir === undefined ? "" : `  data_dir: ${dataDir}\n`}  ${authServer === undefined ? `proxy_server: ${proxy}` : `auth_server: ${authServer}`}
  ${podToken === undefined ? `auth_token: ${token}` : `join_params: { method: kubernetes, token_name: ${podToken} }`}
${pin === "" ? "" : `  ca_pin: ${pin}\n`}${morePlatform}auth_service:
  enabled: no
proxy_service:
  enabled: no
${
  services ??
  `ssh_service:
  enabled: yes
${lines.length > 0 ? `  labels:\n${lines.join("")}` : ""}${more}`
}`;
}
