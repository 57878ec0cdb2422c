import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { AuthClient } from "../../core/api/auth-client.ts";
import type { Log } from "../../core/log/log.ts";
import { giveBack, whenQuiet } from "../../core/memory/give-back.ts";
import type { FailedReload, WebCertificate } from "../../core/resources/proxy-facts.ts";
import { FailedArrivals, HalfOpen } from "../../core/transport/arrivals/half-open.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import type { ListenSockets } from "../../core/transport/listen-sockets.ts";
import { version } from "../../core/versions/version.ts";
import type { ProxyConfig } from "../config.ts";
import { type ListLimits, ListRoom, transferLimits } from "../limits/list-room.ts";
import { AppSites, appsDomain } from "./app-front/app-sites.ts";
import { CancelRequests } from "./db-front/cancel-requests.ts";
import { CurrentIdentity, type HostCredentialsSource } from "./identity/current-identity.ts";
import { WebCertificates } from "./identity/web-certificates.ts";
import { KeptConnections } from "./kept-connections.ts";
import { openBetween } from "./recording/open-between.ts";
import { AccessCache, accessRevisions } from "./routing/access-cache.ts";
import { AuditQueue } from "./routing/audit-queue.ts";
import { HostDirectory } from "./routing/host-directory.ts";
import { LastAgents } from "./routing/last-agents.ts";
import { LimitedStreams } from "./routing/limited-streams.ts";
import { findSession } from "./routing/open-join.ts";
import { RelayedStreams, RunningStreams } from "./routing/running-streams.ts";
import { ExpectedHosts } from "./tunnels/expected-hosts.ts";
import { OfferDisputes } from "./tunnels/offer-disputes.ts";
import { TunnelRegistry } from "./tunnels/registry.ts";
import { StatusReports } from "./tunnels/report-node.ts";
import type { Tunnel } from "./tunnels/tunnel.ts";
import type { UpgradeLimit } from "./versions/open-version-server.ts";
import { ForwardedPeers } from "./web-api/server/forwarded-peers.ts";

export type ListenerMode = "multiplex" | "separate";

/** Dependencies of a proxy, besides its configuration. */
export interface ProxyDeps {
  readonly log: Log;
  /** API client of this proxy (host role `proxy`). */
  readonly auth: AuthClient;
  readonly credentials: HostCredentialsSource;
  /** Passes a stream to the auth service's TLS listener: in this process, or over the network. */
  readonly relayAuth: (stream: Duplex, remoteAddress: string) => void;
  /** Left out: the auth service has not answered yet; until it does, the configured listeners apply. */
  readonly listenerMode?: ListenerMode | undefined;
  /** The auth service is in another process: its mode is requested at each connection to it. */
  readonly followsMode?: boolean | undefined;
  readonly sockets: ListenSockets;
  /** State of the process that this one replaces. */
  readonly certificatesInUse?: readonly WebCertificate[] | undefined;
  /** The last reload, if it failed. */
  readonly failedReload?: (() => FailedReload | undefined) | undefined;
  /** Left out: no HTTP proxy is used. */
  readonly env?: Env | undefined;
  /** Trusted authorities for upstream version servers, PEM, instead of this machine's. */
  readonly upstreamCa?: readonly string[] | undefined;
  /** For measurements; the default is meant for production. */
  readonly upgradeLimit?: UpgradeLimit | undefined;
  /** For tests: those that differ from the usual ones. */
  readonly listLimits?: Partial<ListLimits> | undefined;
  readonly now?: () => Date;
  readonly clock?: () => number;
}

/** Maximum number of silent connections; beyond it the oldest is dropped. */
const maxHalfOpen = 4096;

export type ProxyServices = ReturnType<typeof createServices>;

/** State shared by the parts of a running proxy. */
export function createServices(config: ProxyConfig, deps: ProxyDeps, signal: AbortSignal) {
  const { log, auth } = deps;
  const now = deps.now ?? (() => new Date());
  const clock = deps.clock ?? (() => performance.now());
  const identity = new CurrentIdentity(deps.credentials);
  const { cluster } = identity.current();
  const { sshAlgorithms: algorithms } = config;
  const relaying: RelayedStreams = new RelayedStreams(() => worked());
  const isBusy = (): boolean => relaying.size > 0;
  /** A burst of tunnels leaves much freed memory behind, half of the memory of a thousand; so do large copies. */
  const worked = whenQuiet({ act: () => giveBack(log, { isBusy }) }, signal);
  const access = new AccessCache({ auth, log, clock });
  const registry = new TunnelRegistry();
  const audit = new AuditQueue({ auth, log, clusterName: cluster, now, signal });
  const { between, run: sendRecordings } = openBetween({ folder: join(config.dataDir, "proxy"), auth, access, audit, log, now, algorithms, signal });
  const hosts = new HostDirectory({ auth, log, cluster, clock });
  return {
    config,
    log,
    auth,
    now,
    clock,
    signal,
    identity,
    algorithms,
    cluster,
    clusterName: cluster,
    version,
    access,
    audit,
    between,
    sendRecordings,
    registry,
    findSession: (sid: string) => findSession(auth, sid),
    statuses: new StatusReports({ auth, log, signal }),
    disputes: new OfferDisputes<Tunnel>({
      registry,
      log,
      notify: (tunnel, notice) => tunnel.send({ type: "access", ...accessRevisions(access), notice }),
    }),
    hosts,
    running: new RunningStreams({ log, now }),
    limited: new LimitedStreams({ auth, log, signal }),
    lists: new ListRoom(deps.listLimits),
    transfers: new ListRoom(transferLimits, "uploads and downloads"),
    appSites: new AppSites({ offers: registry, ownNames: ownNames(config), domain: appsDomain(config) }),
    forwarded: new ForwardedPeers(config.trustForwardedFor),
    cancels: new CancelRequests({ tunnels: () => registry.all(), hosts, log, now }),
    lastAgents: new LastAgents(),
    mysqlVersion: config.mysqlVersion ?? "8.4.0",
    sockets: deps.sockets,
    ...newLife(),
    ...newOpening(deps),
    halfOpen: new HalfOpen(maxHalfOpen),
    failed: new FailedArrivals({ log, clock }),
    certificates: new WebCertificates(config.keypairs, { log, now, inUse: deps.certificatesInUse }),
    relaying,
    tunnelsChanged: worked,
  };
}

/** The state of a proxy from its start to its end. */
function newLife() {
  const life = { retired: false, modeIsKnown: false, failed: Promise.withResolvers<never>() };
  // Nobody may be waiting for it.
  life.failed.promise.catch(() => {});
  const retired = (): boolean => life.retired;
  return { life, retired, kept: new KeptConnections(retired), expected: new ExpectedHosts(), arriving: new ExpectedHosts() };
}

/** Time for calls on a connection to the auth service, ms: a client may stay connected for longer than it makes calls. */
const authCallsMs = 20_000;

/** What a replaced process waits for besides relayed streams: connections that are being opened, and calls to the auth service. */
function newOpening({ relayAuth }: Pick<ProxyDeps, "relayAuth">) {
  const opening = new RelayedStreams(() => {});
  const counted: ProxyDeps["relayAuth"] = (stream, remoteAddress) => {
    opening.add(closedWithin(stream, authCallsMs));
    relayAuth(stream, remoteAddress);
  };
  return { opening, relayAuth: counted };
}

function closedWithin(stream: Duplex, limitMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limitMs).unref();
  stream.once("close", () => {
    clearTimeout(timer);
    resolve();
  });
  return promise;
}

/** Host names of the proxy itself, in lower case. */
function ownNames({ nodename, publicAddr, sshPublicAddr, tunnelPublicAddr }: ProxyConfig): readonly string[] {
  const hosts = [publicAddr, sshPublicAddr, tunnelPublicAddr].flatMap((address) => (address === undefined ? [] : [address.host]));
  return [nodename, ...hosts].map((name) => name.toLowerCase());
}
