import { type ServiceKind, serviceNames } from "../../../core/kinds/service-kinds.ts";
import type { DbProtocol } from "../../../core/resources/db.ts";
import { formatHostPort, type HostPort, withPort } from "../../../core/transport/host-port.ts";
import type { DatabasePort } from "../../config.ts";
import { appsDomain } from "../app-front/app-sites.ts";

/** Facts for the ping answer: the running configuration, with the bound ports. */
export interface PingFacts {
  readonly clusterName: string;
  readonly version: string;
  readonly multiplex: boolean;
  readonly nodename: string;
  readonly webListen: HostPort;
  /** Separate listeners, if any. */
  readonly sshListen?: HostPort | undefined;
  readonly tunnelListen?: HostPort | undefined;
  readonly kubeListen?: HostPort | undefined;
  readonly publicAddr?: HostPort | undefined;
  /** As configured; left out: the public host. */
  readonly appsDomain?: string | undefined;
  readonly sshPublicAddr?: HostPort | undefined;
  readonly tunnelPublicAddr?: HostPort | undefined;
  readonly kubePublicAddr?: HostPort | undefined;
  /** Ports of databases, by protocol; without `listen` there is none. */
  readonly databases?: { readonly [Protocol in DbProtocol]?: DatabasePort } | undefined;
}

/** Every field that clients of the reference select, always present; addresses are `host:port`, and empty for a missing service. */
export interface PingProxy {
  /** Clients of Kubernetes; without a port of its own it is served on the web port too. */
  readonly kube: { readonly enabled: boolean; readonly public_addr: string; readonly listen_addr: string };
  readonly ssh: {
    readonly listen_addr: string;
    readonly tunnel_listen_addr: string;
    readonly web_listen_addr: string;
    readonly public_addr: string;
    readonly ssh_public_addr: string;
    readonly ssh_tunnel_public_addr: string;
  };
  readonly db: {
    /** PostgreSQL is served on the web port too. */
    readonly postgres_public_addr: string;
    readonly mysql_listen_addr: string;
    readonly mysql_public_addr: string;
    readonly mongo_public_addr: string;
    readonly redis_public_addr: string;
  };
  readonly app: {
    /** Applications without an address of their own are at `https://<name>.<domain>`, at the port of the web address; empty: such an address does not exist. */
    readonly domain: string;
  };
  readonly tls_routing_enabled: boolean;
}

export interface FindAnswer {
  readonly proxy: PingProxy;
  readonly server_version: string;
  readonly min_client_version: string;
  readonly cluster_name: string;
  readonly automatic_upgrades: boolean;
  readonly edition: string;
}
export interface PingAnswer extends FindAnswer {
  readonly auth: { readonly type: "local"; readonly second_factor: "otp" };
}

/** The web address for users and agents: as configured (with the bound port if it has none), else the host's own name with the bound port. */
export function publicAddress(facts: Pick<PingFacts, "publicAddr" | "nodename" | "webListen">): HostPort {
  const { publicAddr, nodename, webListen } = facts;
  return publicAddr === undefined ? { host: nodename, port: webListen.port } : withPort(publicAddr, webListen);
}

type Sections = Omit<PingProxy, "tls_routing_enabled">;
interface Addresses {
  readonly facts: PingFacts;
  /** The web address for users and agents. */
  readonly open: HostPort;
}

/** Sections that clients select whether or not there is such a kind of service: empty addresses. */
const absent: Sections = {
  ssh: { listen_addr: "", tunnel_listen_addr: "", web_listen_addr: "", public_addr: "", ssh_public_addr: "", ssh_tunnel_public_addr: "" },
  kube: { enabled: false, public_addr: "", listen_addr: "" },
  db: { postgres_public_addr: "", mysql_listen_addr: "", mysql_public_addr: "", mongo_public_addr: "", redis_public_addr: "" },
  app: { domain: "" },
};

/** What each kind of service puts into the answer. */
const sections: { readonly [Kind in ServiceKind]: (addresses: Addresses) => Partial<Sections> } = {
  ssh: (addresses) => ({ ssh: sshSection(addresses) }),
  kube: (addresses) => ({ kube: kubeSection(addresses) }),
  app: ({ facts }) => ({ app: { domain: appsDomain(facts) ?? "" } }),
  db: (addresses) => ({ db: dbSection(addresses) }),
};

/** Through `tsh` databases are reached at the web address; these are the addresses for their own clients. */
function dbSection({ facts: { databases = {} }, open }: Addresses): Sections["db"] {
  const outside = ({ listen, publicAddr }: DatabasePort = {}): string =>
    listen === undefined ? "" : formatHostPort(publicAddr === undefined ? { host: open.host, port: listen.port } : withPort(publicAddr, listen));
  const { postgres, mysql, mongodb, redis } = databases;
  const ownPostgres = postgres?.publicAddr === undefined ? open : withPort(postgres.publicAddr, open);
  return {
    postgres_public_addr: postgres?.listen === undefined ? formatHostPort(ownPostgres) : outside(postgres),
    mysql_listen_addr: mysql?.listen === undefined ? "" : formatHostPort(mysql.listen),
    mysql_public_addr: outside(mysql),
    mongo_public_addr: outside(mongodb),
    redis_public_addr: outside(redis),
  };
}

/** A certificate for one cluster, and its name in TLS, lead there. */
function kubeSection({ facts: { kubeListen, kubePublicAddr, webListen }, open }: Addresses): Sections["kube"] {
  const own = kubePublicAddr ?? { host: open.host, port: 0 };
  return {
    enabled: true,
    public_addr: formatHostPort(kubeListen === undefined && kubePublicAddr === undefined ? open : withPort(own, kubeListen ?? open)),
    listen_addr: formatHostPort(kubeListen ?? webListen),
  };
}

/** SSH without a separate listener is reached at the web address, which routes by ALPN. */
function sshSection({ facts, open }: Addresses): Sections["ssh"] {
  const own = (listen: HostPort | undefined): HostPort | undefined => (facts.multiplex ? undefined : listen);
  const [ssh, tunnel] = [own(facts.sshListen), own(facts.tunnelListen)];
  const outside = (configured: HostPort | undefined, listen: HostPort | undefined): string =>
    formatHostPort(listen === undefined ? open : withPort(configured ?? { host: open.host, port: listen.port }, listen));
  return {
    listen_addr: formatHostPort(ssh ?? facts.webListen),
    tunnel_listen_addr: formatHostPort(tunnel ?? facts.webListen),
    web_listen_addr: formatHostPort(facts.webListen),
    public_addr: formatHostPort(open),
    ssh_public_addr: outside(facts.sshPublicAddr, ssh),
    ssh_tunnel_public_addr: outside(facts.tunnelPublicAddr, tunnel),
  };
}

/** `automaticUpgrades`: the version channel of this proxy has a version. */
export function findAnswer(facts: PingFacts, automaticUpgrades: boolean): FindAnswer {
  const addresses = { facts, open: publicAddress(facts) };
  const filled: Sections = { ...absent };
  for (const kind of serviceNames) Object.assign(filled, sections[kind](addresses));
  return {
    proxy: { ...filled, tls_routing_enabled: facts.multiplex },
    server_version: facts.version,
    min_client_version: previousMajor(facts.version),
    cluster_name: facts.clusterName,
    automatic_upgrades: automaticUpgrades,
    // The edition that is built: its package is platform-ent.
    edition: "ent",
  };
}

export function pingAnswer(facts: PingFacts, automaticUpgrades: boolean): PingAnswer {
  return { auth: { type: "local", second_factor: "otp" }, ...findAnswer(facts, automaticUpgrades) };
}

/** Clients of the major version before this one still work. */
function previousMajor(version: string): string {
  const major = Number(/^\d+/.exec(version)?.[0] ?? 0);
  return `${Math.max(0, major - 1)}.0.0`;
}
