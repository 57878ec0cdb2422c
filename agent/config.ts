import type { PlatformConfig } from "../core/config/platform-config.ts";
import { PlatformError } from "../core/errors/platform-error.ts";
import type { Labels } from "../core/resources/metadata.ts";
import type { HostPort } from "../core/transport/host-port.ts";
import type { LabelCommand } from "./labels/host-labels.ts";
import type { PamConfig } from "./ssh/pam/pam-order.ts";

export interface AgentConfig {
  readonly nodename: string;
  /** State is kept in `${dataDir}/agent`. */
  readonly dataDir: string;
  /** Left out: the host must have joined before. */
  readonly token?: string | undefined;
  readonly caPins: readonly string[];
  readonly proxyServer: HostPort;
  readonly ssh: {
    readonly labels: Labels;
    readonly names: readonly string[];
    readonly makesUsers: boolean;
    readonly commands: readonly LabelCommand[];
    /** Left out: PAM is not asked. */
    readonly pam?: PamConfig | undefined;
  };
}

/** A control in the same process, which the agent joins without a configured token. */
export interface LocalControl {
  readonly webAddress: HostPort;
  readonly caPins: readonly string[];
  /** Left out: the host has joined before. */
  readonly token?: string | undefined;
}

/** The agent's part of a configuration whose ssh_service is enabled. */
export function agentConfig(config: PlatformConfig, local?: LocalControl): AgentConfig {
  const { platform, ssh_service: ssh } = config;
  const shared = {
    nodename: platform.nodename,
    dataDir: platform.data_dir,
    ssh: {
      labels: ssh.labels,
      names: ssh.public_addr.map((name) => name.host),
      makesUsers: !ssh.disable_create_host_user,
      commands: ssh.commands,
      ...(ssh.pam.enabled && { pam: { serviceName: ssh.pam.service_name, environment: ssh.pam.environment } }),
    },
  };
  if (platform.proxy_server !== undefined) return { ...shared, token: platform.token, caPins: platform.caPins, proxyServer: platform.proxy_server };
  if (local !== undefined) return { ...shared, token: local.token, caPins: local.caPins, proxyServer: local.webAddress };
  throw new PlatformError("invalid", "ssh_service needs platform.proxy_server", { hint: "write the proxy's public address as proxy_server" });
}
