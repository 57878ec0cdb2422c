import type { Socket } from "node:net";
import { PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import { dbProtocols } from "../../core/resources/db.ts";
import { alpn } from "../../core/transport/alpn.ts";
import { HalfOpen } from "../../core/transport/arrivals/half-open.ts";
import { type ArrivedSocket, type Listener, listen, setPeer } from "../../core/transport/arrivals/listen.ts";
import { terminateTls } from "../../core/transport/arrivals/server-tls.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";
import { IpSet } from "../../core/transport/ip-prefix.ts";
import { isKubeServerName } from "../../core/transport/kube-names.ts";
import type { ProxyConfig } from "../config.ts";
import { type ServeBrowser, serveAppClient } from "./app-front/app-front.ts";
import { auditingOffences } from "./db-front/audit-offence.ts";
import { type DatabasePorts, openDatabasePorts } from "./db-front/open-ports.ts";
import { servePostgres, servePostgresTls } from "./db-front/postgres/serve-postgres.ts";
import { type FrontDoorOptions, type Handler, type HandlerTable, openDoor, receive } from "./front-door.ts";
import { serveKubeClient } from "./kube-front/kube-front.ts";
import type { ListenerMode, ProxyServices } from "./proxy-services.ts";
import { receiveSocket, type Serve } from "./receive-socket.ts";
import { clientStream } from "./routing/client-stream.ts";
import { acceptJump } from "./routing/jump-server.ts";
import { acceptTunnel } from "./tunnels/accept-tunnel.ts";
import type { PingFacts } from "./web-api/ping.ts";
import type { WebApp } from "./web-api/web-app.ts";

/** Bound addresses. */
export interface ProxyAddresses {
  readonly web: HostPort;
  readonly ssh?: HostPort | undefined;
  readonly tunnel?: HostPort | undefined;
  readonly kube?: HostPort | undefined;
  readonly databases: ReturnType<DatabasePorts["addresses"]>;
}

export interface ProxyListeners {
  addresses(): ProxyAddresses;
  ping(): PingFacts;
  /** Opens the ports of this mode; ping reports the mode once they are open. Throws `unavailable` when one cannot be opened. */
  follow(mode: ListenerMode): Promise<void>;
  /** Takes a connection that came inside another one, as the web port takes one: all but the web API, so that none is inside of two. */
  receiveUpgraded(socket: ArrivedSocket): void;
  /** Existing connections stay. */
  close(): Promise<void>;
  destroyAll(): void;
}

export interface ListenerServices extends ProxyServices {
  readonly web: Pick<WebApp, "accept">;
  readonly mode: ListenerMode | undefined;
  /** Left out: applications are for clients with a certificate only. */
  readonly serveBrowser?: ServeBrowser | undefined;
}

/** All connections of one listener. */
const maxConnections = 60_000;
const defaultPorts = { ssh: 3023, tunnel: 3024 } as const;

/**
 * Opens listeners, whose connections are among `sockets` until they close. Promises of `serve` settle once bytes flow or were refused, each within limits of
 * its own.
 */
function opener(sockets: Set<Socket>, balancers: IpSet | undefined, services: ListenerServices) {
  /** One listener for all sockets. */
  function forget(this: Socket): void {
    sockets.delete(this);
  }
  return (purpose: string, address: HostPort, serve: Serve<Socket>): Promise<Listener> =>
    listen({
      address,
      purpose,
      sockets: services.sockets,
      log: services.log,
      maxConnections,
      onSocket: (socket) => {
        sockets.add(socket);
        socket.on("close", forget);
        services.opening.add(receiveSocket(socket, { port: purpose, balancers }, services, serve));
      },
    });
}

/** Opens the web port and, if configured, the separate SSH ports, that of Kubernetes and those of databases. */
export async function openListeners(config: ProxyConfig, services: ListenerServices): Promise<ProxyListeners> {
  const sockets = new Set<Socket>();
  const { proxyProtocol } = config;
  const open = opener(sockets, proxyProtocol && new IpSet(proxyProtocol), services);
  let mode: ListenerMode = services.mode ?? (config.sshListen === undefined && config.tunnelListen === undefined ? "multiplex" : "separate");
  const handlers = { ...services, ...doorHandlers(services) };
  const inside = { ...handlers, ...insideHandlers(services) };
  const web = await open("web", config.webListen, (connection) => openDoor(connection, handlers));
  const own: { ssh?: Listener; tunnel?: Listener } = {};
  /** SSH without TLS. */
  const overSsh =
    (accept: SshAccept): Serve<Socket> =>
    (connection) =>
      accept(connection, services);
  const openOwn = async (wantedMode: ListenerMode): Promise<void> => {
    const { host } = config.webListen;
    const wanted = (address: HostPort | undefined, port: number) => address ?? (wantedMode === "separate" ? { host, port } : undefined);
    const [ssh, tunnel] = [wanted(config.sshListen, defaultPorts.ssh), wanted(config.tunnelListen, defaultPorts.tunnel)];
    if (ssh !== undefined) own.ssh ??= await open("ssh", ssh, overSsh(acceptJump)).catch(needsOwn("listen_addr"));
    if (tunnel !== undefined) own.tunnel ??= await open("tunnel", tunnel, overSsh(acceptTunnel)).catch(needsOwn("tunnel_listen_addr"));
  };
  const closeAll = async (): Promise<void> => {
    for (const listener of [web, own.ssh, own.tunnel, kube, ...(databases?.listeners ?? [])]) await listener?.close();
  };
  let databases: DatabasePorts | undefined;
  let kube: Listener | undefined;
  try {
    if (config.kubeListen !== undefined) kube = await open("kube", config.kubeListen, (connection) => serveKubeClient(connection, services));
    databases = await openDatabasePorts(config.databases ?? {}, services, open);
    await openOwn(mode);
  } catch (thrown) {
    await closeAll();
    throw thrown;
  }
  const ofDatabases = databases.addresses();
  const addresses = () => ({ web: web.address, ssh: own.ssh?.address, tunnel: own.tunnel?.address, kube: kube?.address, databases: ofDatabases });
  logAddresses(addresses(), services);
  return {
    addresses,
    ping: () => pingFacts(config, services, { mode, ...addresses() }),
    follow: async (wanted) => {
      await openOwn(wanted);
      mode = wanted;
    },
    receiveUpgraded: (socket) => services.opening.add(receive(socket, inside)),
    close: closeAll,
    destroyAll: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function logAddresses({ databases, ...addresses }: ProxyAddresses, { log }: Pick<ListenerServices, "log">): void {
  for (const [name, address] of Object.entries({ ...addresses, ...databases })) {
    if (address !== undefined) log.info("proxy listens", { for: name, address: formatHostPort(address) });
  }
}

/** Rethrows with a hint about the configuration. */
function needsOwn(key: string): (thrown: unknown) => never {
  return (thrown) => {
    const { code, message, cause } = toPlatformError(thrown);
    const hint = `set proxy_service.${key} to a free address: each proxy of a host needs its own ports`;
    throw new PlatformError(code, message, { cause, hint });
  };
}

type Bound = ProxyAddresses & { readonly mode: ListenerMode };

function pingFacts(config: ProxyConfig, services: ListenerServices, bound: Bound): PingFacts {
  return {
    clusterName: services.cluster,
    version: services.version,
    multiplex: bound.mode === "multiplex",
    nodename: config.nodename,
    webListen: bound.web,
    sshListen: bound.ssh,
    tunnelListen: bound.tunnel,
    kubeListen: bound.kube,
    kubePublicAddr: config.kubePublicAddr,
    databases: Object.fromEntries(dbProtocols.map((one) => [one, { listen: bound.databases[one], publicAddr: config.databases?.[one]?.publicAddr }])),
    publicAddr: config.publicAddr,
    appsDomain: config.appsDomain,
    sshPublicAddr: config.sshPublicAddr,
    tunnelPublicAddr: config.tunnelPublicAddr,
  };
}

/** Maximum of connections whose client is still in its handshake with the auth service, and its time limit, ms: each costs a relay. */
const maxToAuth = 4_096;
const toAuthMs = 10_000;

/** Handlers of the web port. */
function doorHandlers(services: ListenerServices): Pick<FrontDoorOptions, "table" | "web" | "postgres"> {
  const postgres = auditingOffences("postgres", servePostgres);
  return { table: handlerTable(services), web: webHandler(services), postgres: (connection) => postgres(connection, services) };
}

function handlerTable(services: ListenerServices): HandlerTable {
  const toAuth = new HalfOpen(maxToAuth);
  const insideTls =
    (name: string, accept: SshAccept): Handler =>
    async ({ socket, peer, established }) => {
      const tls = await terminateTls(socket, { context: services.identity.current().tls, alpn: name });
      await accept({ socket: tls, peer, established }, services);
    };
  const postgres = auditingOffences("postgres", servePostgresTls);
  return new Map<string, Handler>([
    [alpn.tunnel, insideTls(alpn.tunnel, acceptTunnel)],
    [alpn.jump, insideTls(alpn.jump, acceptJump)],
    [alpn.stream, (arrival) => clientStream(arrival, services)],
    [alpn.postgres, (arrival) => postgres(arrival, services)],
    [
      alpn.auth,
      async ({ socket, peer, established }) => {
        established();
        toAuth.enter(socket);
        setTimeout(() => toAuth.leave(socket), toAuthMs).unref();
        services.relayAuth(socket, peer);
      },
    ],
  ]);
}

/** Handlers of the web port for what comes inside a connection upgrade. */
function insideHandlers(services: ListenerServices): Pick<FrontDoorOptions, "web" | "postgres"> {
  const refuse = async (): Promise<never> => {
    throw new PlatformError("denied", "access denied: a connection upgrade is for our own protocols");
  };
  return { web: webHandler(services, refuse), postgres: refuse };
}

/** HTTPS: the certificate is chosen by the client's server name, and the site: Kubernetes, the proxy's own, or that of an application. */
function webHandler(services: ListenerServices, ownSite: Handler = webApi(services)): Handler {
  return async (arrival) => {
    const { hello } = arrival;
    if (isKubeServerName(hello.servername)) return await serveKubeClient(arrival, services);
    const site = services.appSites.find(hello.servername);
    if (site !== undefined) return await serveAppClient(arrival, site, services);
    await ownSite(arrival);
  };
}

function webApi(services: ListenerServices): Handler {
  return async ({ socket, hello, established }) => {
    const context = services.certificates.choose(hello.servername) ?? services.identity.current().web;
    const tls = await terminateTls(socket, { context, alpn: "http/1.1" });
    // The requests' client: behind a balancer not the other end of the socket.
    setPeer(tls, socket);
    established();
    services.web.accept(tls);
  };
}

type SshAccept = typeof acceptTunnel | typeof acceptJump;
