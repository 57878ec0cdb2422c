import type { PlatformConfig } from "../core/config/platform-config.ts";
import { sshAlgorithms } from "../core/config/ssh-algorithms.ts";
import { PlatformError } from "../core/errors/platform-error.ts";
import type { Labels } from "../core/resources/metadata.ts";
import type { HostPort } from "../core/transport/host-port.ts";
import type { LabelCommand } from "./labels/host-labels.ts";
import type { SshConfig } from "./ssh/ssh-service.ts";

export interface AgentConfig {
  readonly nodename: string;
  /** State is kept in `${dataDir}/agent`. */
  readonly dataDir: string;
  /** Left out: the host must have joined before. */
  readonly token?: string | undefined;
  readonly caPins: readonly string[];
  readonly way: ProxyWay | DirectWay;
  readonly host: HostFacts;
  /** Left out: the service does not run. */
  readonly ssh?: SshConfig | undefined;
}

/** What the host is called, whatever it serves. */
export interface HostFacts {
  readonly labels: Labels;
  /** Labels whose values a command prints. */
  readonly commands: readonly LabelCommand[];
  /** Names that its certificate has, beside its own. */
  readonly names: readonly string[];
}

/** It joins through a proxy, and opens a tunnel to it. */
export interface ProxyWay {
  readonly kind: "proxy";
  readonly proxyServer: HostPort;
  /** The proxy runs in this process: it is reached where it listens, whatever it is called outside. */
  readonly isLocal?: boolean;
}

/** It joins the auth service directly, and listens: the proxies dial it. */
export interface DirectWay {
  readonly kind: "direct";
  readonly authServer: HostPort;
  readonly listen: HostPort;
  /** Where the proxies reach it besides; other hosts may have the same. */
  readonly publicAddresses: readonly HostPort[];
  /** In place of the address that it has itself. */
  readonly advertiseIp?: string | undefined;
}

/** Where it joins. */
export function joinAddress({ way }: Pick<AgentConfig, "way">): HostPort {
  return way.kind === "proxy" ? way.proxyServer : way.authServer;
}

/** A control in the same process, which the agent joins without a configured token. */
export interface LocalControl {
  readonly webAddress: HostPort;
  readonly caPins: readonly string[];
  /** Left out: the host has joined before. */
  readonly token?: string | undefined;
}

/** The agent's part of a configuration. Throws `invalid`. */
export function agentConfig(config: PlatformConfig, local?: LocalControl): AgentConfig {
  const { platform, ssh_service: ssh } = config;
  const shared = {
    nodename: platform.nodename,
    dataDir: platform.data_dir,
    host: { labels: ssh.labels, commands: ssh.commands, names: ssh.public_addr.map((name) => name.host) },
    ...(ssh.enabled && { ssh: sshConfig(config) }),
  };
  const { token, caPins, proxy_server: proxyServer, auth_server: authServer } = platform;
  if (proxyServer !== undefined) return { ...shared, token, caPins, way: { kind: "proxy", proxyServer } };
  if (local !== undefined)
    return { ...shared, token: local.token, caPins: local.caPins, way: { kind: "proxy", proxyServer: local.webAddress, isLocal: true } };
  if (authServer !== undefined) return { ...shared, token, caPins, way: directWay(config, authServer) };
  throw new PlatformError("invalid", "ssh_service needs platform.proxy_server or auth_server", {
    hint: "write the proxy's public address as proxy_server",
  });
}

function sshConfig({ platform, ssh_service: ssh }: PlatformConfig): SshConfig {
  return {
    makesUsers: !ssh.disable_create_host_user,
    algorithms: sshAlgorithms(platform),
    ...(ssh.pam.enabled && { pam: { serviceName: ssh.pam.service_name, environment: ssh.pam.environment } }),
  };
}

function directWay({ platform, ssh_service: ssh }: PlatformConfig, authServer: HostPort): DirectWay {
  if (platform.caPins.length === 0) {
    throw new PlatformError("invalid", "platform.auth_server needs platform.ca_pin: this host knows the auth service by nothing else", {
      hint: "`tctl status` shows the pin",
    });
  }
  return { kind: "direct", authServer, listen: ssh.listen_addr, publicAddresses: ssh.public_addr, advertiseIp: platform.advertise_ip };
}
