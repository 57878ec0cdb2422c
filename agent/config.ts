import type { JoinMethod, PlatformConfig } from "../core/config/platform-config.ts";
import { sshAlgorithms } from "../core/config/setting.ts";
import { PlatformError } from "../core/errors/platform-error.ts";
import { type DirectKind, directKinds, serviceKinds } from "../core/kinds/service-kinds.ts";
import type { Labels } from "../core/resources/metadata.ts";
import type { SshAlgorithms } from "../core/ssh/algorithms.ts";
import type { HostPort } from "../core/transport/host-port.ts";
import type { AppConfig } from "./app/app-service.ts";
import type { DbConfig } from "./db/db-service.ts";
import type { KubeConfig } from "./kube/kube-service.ts";
import type { LabelCommand } from "./labels/host-labels.ts";
import type { SshConfig } from "./ssh/ssh-service.ts";

export interface AgentConfig {
  readonly nodename: string;
  /** State directory: `${dataDir}/agent`. */
  readonly dataDir: string;
  readonly joinMethod: JoinMethod;
  /** Omitted when the host has joined before. */
  readonly token?: string | undefined;
  readonly caPins: readonly string[];
  readonly way: ProxyWay | DirectWay;
  readonly host: HostFacts;
  /** Algorithms offered to SSH clients, also to those who join sessions of other services; omitted for the defaults. */
  readonly algorithms?: SshAlgorithms | undefined;
  /** Omitted when the service is disabled. */
  readonly ssh?: SshConfig | undefined;
  readonly app?: AppConfig | undefined;
  readonly db?: DbConfig | undefined;
  readonly kube?: KubeConfig | undefined;
}

/** Name of the host, for all its services. */
export interface HostFacts {
  readonly labels: Labels;
  /** Labels whose values a command prints. */
  readonly commands: readonly LabelCommand[];
  /** Additional names in its certificate. */
  readonly names: readonly string[];
}

/** The agent joins through a proxy and opens a tunnel to it. */
export interface ProxyWay {
  readonly kind: "proxy";
  readonly proxyServer: HostPort;
  /** The proxy runs in this process: dial its listener, not its public name. */
  readonly isLocal?: boolean;
}

/** The agent joins the auth service directly and listens: the proxies dial it. */
export interface DirectWay {
  readonly kind: "direct";
  readonly authServer: HostPort;
  /** One for each service. */
  readonly ports: readonly [DirectListen, ...DirectListen[]];
  /** Advertised instead of its own address. */
  readonly advertiseIp?: string | undefined;
}

/** A port on which the proxies reach a service. */
export interface DirectListen {
  readonly kind: DirectKind;
  readonly listen: HostPort;
  /** Additional addresses for proxies to dial. Those of SSH are names for users too, and other hosts may share them. */
  readonly publicAddresses: readonly HostPort[];
}

/** Where the host joins. */
export function joinAddress({ way }: Pick<AgentConfig, "way">): HostPort {
  return way.kind === "proxy" ? way.proxyServer : way.authServer;
}

/** A control in the same process, which the agent joins without a configured token. */
export interface LocalControl {
  readonly webAddress: HostPort;
  readonly caPins: readonly string[];
  /** Omitted when the host has joined before. */
  readonly token?: string | undefined;
}

/** The agent's part of a configuration. Throws `invalid`. */
export function agentConfig(config: PlatformConfig, local?: LocalControl): AgentConfig {
  const { platform, ssh_service: ssh, app_service: app, db_service: db, kubernetes_service: kube } = config;
  const shared = {
    nodename: platform.nodename,
    dataDir: platform.data_dir,
    algorithms: sshAlgorithms(platform),
    host: { labels: ssh.labels, commands: ssh.commands, names: ssh.public_addr.map((name) => name.host) },
    ...(ssh.enabled && { ssh: sshConfig(config) }),
    ...(app.enabled && { app: appConfig(app) }),
    ...(db.enabled && { db: { databases: db.databases, matchers: db.resources.map(({ labels }) => labels) } }),
    ...(kube.enabled && { kube: kubeConfig(kube) }),
  };
  const { joinMethod, token, caPins, proxy_server: proxyServer, auth_server: authServer } = platform;
  if (proxyServer !== undefined) return { ...shared, joinMethod, token, caPins, way: { kind: "proxy", proxyServer } };
  if (local !== undefined)
    return {
      ...shared,
      joinMethod: "token",
      token: local.token,
      caPins: local.caPins,
      way: { kind: "proxy", proxyServer: local.webAddress, isLocal: true },
    };
  if (authServer !== undefined) return { ...shared, joinMethod, token, caPins, way: directWay(config, authServer) };
  throw new PlatformError("invalid", "an agent needs platform.proxy_server or auth_server", {
    hint: "write the proxy's public address as proxy_server",
  });
}

function appConfig({ apps, debug_app: hasDumper, resources, target_policy: targetPolicy }: PlatformConfig["app_service"]): AppConfig {
  return { apps, hasDumper, matchers: resources.map(({ labels }) => labels), targetPolicy };
}

function kubeConfig({
  kubeconfig_file: kubeconfigFile,
  kube_cluster_name: podCluster,
  labels,
  commands,
  resources,
}: PlatformConfig["kubernetes_service"]): KubeConfig {
  return { kubeconfigFile, podCluster, labels, commands, matchers: resources.map((one) => one.labels) };
}

function sshConfig({ platform, ssh_service: ssh }: PlatformConfig): SshConfig {
  return {
    makesUsers: !ssh.disable_create_host_user,
    algorithms: sshAlgorithms(platform),
    ...(ssh.pam.enabled && { pam: { serviceName: ssh.pam.service_name, environment: ssh.pam.environment } }),
  };
}

function directWay(config: PlatformConfig, authServer: HostPort): DirectWay {
  const { platform } = config;
  if (platform.caPins.length === 0) {
    throw new PlatformError("invalid", "platform.auth_server needs platform.ca_pin: without it this host cannot verify the auth service", {
      hint: "`tctl status` shows the pin",
    });
  }
  const [first, ...others] = directPorts(config);
  if (first === undefined)
    throw new PlatformError("invalid", "none of this agent's services has a port that proxies dial", { hint: "set proxy_server" });
  return { kind: "direct", authServer, ports: [first, ...others], advertiseIp: platform.advertise_ip };
}

/** The ports of an agent that joins the auth service directly, that of SSH first. */
function directPorts(config: PlatformConfig): readonly DirectListen[] {
  return directKinds.flatMap((kind) => {
    const { enabled, listen_addr: listen, public_addr: publicAddresses } = config[serviceKinds[kind].section];
    return enabled ? [{ kind, listen, publicAddresses }] : [];
  });
}
