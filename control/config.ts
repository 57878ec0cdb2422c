import type { StorageConfig } from "../core/config/audit-destination.ts";
import { type PlatformConfig, ports } from "../core/config/platform-config.ts";
import { sshAlgorithms } from "../core/config/setting.ts";
import type { UpgradeChannel } from "../core/config/upgrade-channels.ts";
import type { DbProtocol } from "../core/resources/db.ts";
import type { RecordingMode } from "../core/resources/recording.ts";
import type { SshAlgorithms } from "../core/ssh/algorithms.ts";
import type { HostPort } from "../core/transport/host-port.ts";
import type { BucketSize } from "./limits/buckets.ts";

export interface ControlConfig {
  readonly nodename: string;
  readonly dataDir: string;
  readonly auth?: AuthConfig | undefined;
  readonly proxy?: ProxyConfig | undefined;
}

export interface AuthConfig {
  readonly dataDir: string;
  readonly nodename: string;
  readonly clusterName: string;
  readonly listen: HostPort;
  /** Further names for the auth service's certificate. */
  readonly names: readonly string[];
  readonly listenerMode: "multiplex" | "separate";
  readonly defaultSessionTtlSeconds: number;
  /** Left out: events are neither shipped nor deleted. */
  readonly audit?: StorageConfig;
  readonly sessionRecording: RecordingMode;
  /** New connections that proxies open in one user's name, for each kind of resource; left out: the usual ones (limits/host-quotas.ts). */
  readonly connectionsOfUser?: BucketSize | undefined;
  /** The versions that it vouches for, regardless of a proxy's answer; for other channels, the common answer of all proxies. */
  readonly upgradeChannels?: Readonly<Record<string, UpgradeChannel>> | undefined;
}

export interface ProxyConfig {
  readonly dataDir: string;
  readonly nodename: string;
  readonly webListen: HostPort;
  /** Addresses and prefixes of balancers whose connections, to any port, begin with a header of the PROXY protocol; left out: none. */
  readonly proxyProtocol?: readonly string[] | undefined;
  /** Those whose X-Forwarded-For counts; left out: none. */
  readonly trustForwardedFor?: readonly string[] | undefined;
  /** Present: a separate listener is wanted. */
  readonly sshListen?: HostPort | undefined;
  readonly tunnelListen?: HostPort | undefined;
  /** Present: a separate listener for clients of Kubernetes is wanted, beside the web port. */
  readonly kubeListen?: HostPort | undefined;
  readonly kubePublicAddr?: HostPort | undefined;
  /** Ports of databases; an omitted one is closed. */
  readonly databases?: { readonly [Protocol in DbProtocol]?: DatabasePort } | undefined;
  /** Version in the greeting of MySQL's port. */
  readonly mysqlVersion?: string | undefined;
  readonly publicAddr?: HostPort | undefined;
  /** Domain of the host names of applications; left out: the public host. */
  readonly appsDomain?: string | undefined;
  readonly sshPublicAddr?: HostPort | undefined;
  readonly tunnelPublicAddr?: HostPort | undefined;
  readonly keypairs: readonly { readonly certFile: string; readonly keyFile: string }[];
  /** Present: the auth service runs elsewhere; token and caPins are for joining it. */
  readonly authServer?: HostPort | undefined;
  readonly token?: string | undefined;
  readonly caPins: readonly string[];
  /** As configured; `default` and `stable/cloud` always exist. */
  readonly upgradeChannels?: Readonly<Record<string, UpgradeChannel>> | undefined;
  /** Served under /packages/. */
  readonly packagesDir?: string | undefined;
  /** Algorithms offered on SSH ports. */
  readonly sshAlgorithms?: SshAlgorithms | undefined;
}

/** Where a proxy serves stock clients of one protocol. */
export interface DatabasePort {
  /** Omitted: there is no port; an address may be announced all the same, as PostgreSQL is served on the web port too. */
  readonly listen?: HostPort | undefined;
  readonly publicAddr?: HostPort | undefined;
}

/** Control's part of a configuration; auth or proxy is left out where its section is off. */
export function controlConfig(config: PlatformConfig): ControlConfig {
  const { nodename, data_dir: dataDir } = config.platform;
  return {
    nodename,
    dataDir,
    ...(config.auth_service.enabled && { auth: authConfig(config) }),
    ...(config.proxy_service.enabled && { proxy: proxyConfig(config) }),
  };
}

function authConfig({ platform, auth_service: auth }: PlatformConfig): AuthConfig {
  return {
    dataDir: platform.data_dir,
    nodename: platform.nodename,
    clusterName: auth.cluster_name ?? platform.nodename,
    listen: auth.listen_addr,
    names: auth.public_addr.map((address) => address.host),
    listenerMode: auth.proxy_listener_mode,
    defaultSessionTtlSeconds: auth.authentication.default_session_ttl,
    audit: platform.storage,
    sessionRecording: auth.session_recording,
    connectionsOfUser: { burst: auth.connections_of_user.at_once, perSecond: auth.connections_of_user.per_second },
    upgradeChannels: auth.automatic_upgrades_channels,
  };
}

function proxyConfig({ platform, auth_service: auth, proxy_service: proxy }: PlatformConfig): ProxyConfig {
  const separate = auth.enabled && auth.proxy_listener_mode === "separate";
  const own = (port: number): HostPort | undefined => (separate ? { host: proxy.web_listen_addr.host, port } : undefined);
  return {
    dataDir: platform.data_dir,
    nodename: platform.nodename,
    webListen: proxy.web_listen_addr,
    proxyProtocol: proxy.proxy_protocol,
    trustForwardedFor: proxy.trust_x_forwarded_for,
    sshListen: proxy.listen_addr ?? own(ports.proxySsh),
    tunnelListen: proxy.tunnel_listen_addr ?? own(ports.tunnel),
    kubeListen: proxy.kube_listen_addr,
    kubePublicAddr: proxy.kube_public_addr,
    databases: {
      postgres: { listen: proxy.postgres_listen_addr, publicAddr: proxy.postgres_public_addr },
      mysql: { listen: proxy.mysql_listen_addr, publicAddr: proxy.mysql_public_addr },
      mongodb: { listen: proxy.mongo_listen_addr, publicAddr: proxy.mongo_public_addr },
      redis: { listen: proxy.redis_listen_addr, publicAddr: proxy.redis_public_addr },
    },
    mysqlVersion: proxy.mysql_server_version,
    publicAddr: proxy.public_addr,
    appsDomain: proxy.apps_domain,
    sshPublicAddr: proxy.ssh_public_addr,
    tunnelPublicAddr: proxy.tunnel_public_addr,
    keypairs: proxy.https_keypairs.map((pair) => ({ certFile: pair.cert_file, keyFile: pair.key_file })),
    authServer: auth.enabled ? undefined : platform.auth_server,
    token: platform.token,
    caPins: platform.caPins,
    upgradeChannels: proxy.automatic_upgrades_channels,
    packagesDir: proxy.packages_dir,
    sshAlgorithms: sshAlgorithms(platform),
  };
}
