import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { AuthClient } from "../../core/api/auth-client.ts";
import { toPlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { giveBack } from "../../core/memory/give-back.ts";
import { whenQuiet } from "../../core/memory/when-quiet.ts";
import type { FailedReload, ProxyFacts, WebCertificate } from "../../core/resources/proxy-facts.ts";
import { FailedArrivals } from "../../core/transport/arrivals/failed-arrivals.ts";
import { HalfOpen } from "../../core/transport/arrivals/half-open.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";
import type { ListenSockets } from "../../core/transport/listen-sockets.ts";
import { version } from "../../core/versions/version.ts";
import type { ProxyConfig } from "../config.ts";
import { CurrentIdentity, type HostCredentialsSource } from "./identity/current-identity.ts";
import { WebCertificates } from "./identity/web-certificates.ts";
import { openListeners, type ProxyListeners } from "./open-listeners.ts";
import { openBetween } from "./recording/open-between.ts";
import { AccessCache } from "./routing/access-cache.ts";
import { AuditQueue } from "./routing/audit-queue.ts";
import { findDirectTargets } from "./routing/find-direct-targets.ts";
import { findSession } from "./routing/find-session.ts";
import { RelayedStreams } from "./routing/relayed-streams.ts";
import { RunningStreams } from "./routing/running-streams.ts";
import { wait } from "./routing/wait.ts";
import { accessRevisions } from "./tunnels/access-revisions.ts";
import { ExpectedHosts } from "./tunnels/expected-hosts.ts";
import { TunnelRegistry } from "./tunnels/registry.ts";
import { reportAll } from "./tunnels/report-node.ts";
import { SilenceWatch } from "./tunnels/silence-watch.ts";
import { StatusReports } from "./tunnels/status-reports.ts";
import { openVersionServer, type UpgradeLimit, type VersionServer } from "./versions/open-version-server.ts";
import { publicAddress } from "./web-api/ping.ts";
import { createWebApp, type WebApp } from "./web-api/web-app.ts";

export type ListenerMode = "multiplex" | "separate";

export interface ProxyDeps {
  readonly log: Log;
  /** Calls as this proxy (host role `proxy`). */
  readonly auth: AuthClient;
  readonly credentials: HostCredentialsSource;
  /** Hands a stream to the auth service's TLS listener: in this process, or over the network. */
  readonly relayAuth: (stream: Duplex, remoteAddress: string) => void;
  /** Left out: the auth service has not answered yet; until it does, the configured listeners tell. */
  readonly listenerMode?: ListenerMode | undefined;
  /** The auth service is in another process: its mode is asked for at each connection to it. */
  readonly followsMode?: boolean | undefined;
  readonly sockets: ListenSockets;
  /** Of the process that this one is to replace. */
  readonly certificatesInUse?: readonly WebCertificate[] | undefined;
  /** The last reload, when it failed. */
  readonly failedReload?: (() => FailedReload | undefined) | undefined;
  /** Left out: nothing is dialled through an HTTP proxy. */
  readonly env?: Env | undefined;
  /** PEM: what upstream version servers are trusted by, in place of what this machine trusts. */
  readonly upstreamCa?: readonly string[] | undefined;
  /** For measurements; the default is what production needs. */
  readonly upgradeLimit?: UpgradeLimit | undefined;
  readonly now?: () => Date;
  readonly clock?: () => number;
}

export interface ProxyService {
  readonly clusterName: string;
  /** As bound. */
  readonly addresses: { readonly web: HostPort; readonly ssh?: HostPort | undefined; readonly tunnel?: HostPort | undefined };
  readonly certificates: Pick<WebCertificates, "facts">;
  /** Tells the auth service soon what this proxy says of itself: it has changed. */
  readonly reportSoon: () => void;
  readonly registry: TunnelRegistry;
  /** Hosts that come here soon, because another process hands over to this one. */
  readonly expected: ExpectedHosts;
  /** Streams of people that are open. */
  readonly streams: number;
  /** Rejects when it cannot serve as the auth service wants. */
  readonly failed: Promise<never>;
  /** Takes no more connections, tells the agents, and waits for streams at most this long, ms. */
  drain(graceMs: number): Promise<void>;
  /** Another process takes over: takes no more connections, tells the agents, and resolves when nothing is open, or at the signal. */
  retire(signal: AbortSignal): Promise<void>;
  /** Ends everything at once. */
  close(): Promise<void>;
}

/** Silent connections at a time; beyond, the oldest is dropped. */
const maxHalfOpen = 4096;
/** How often dead tunnels are looked for, ms: one timer for all of them. */
const sweepMs = 2000;
/** For the drain notice to leave and the last audit events to be sent, ms. */
const farewellMs = 500;

/** Starts the proxy service. Throws PlatformError when an address or certificate cannot be used. */
export async function openProxy(config: ProxyConfig, deps: ProxyDeps, signal: AbortSignal): Promise<ProxyService> {
  const stop = new AbortController();
  const services = createServices(config, deps, AbortSignal.any([signal, stop.signal]));
  let listeners: ProxyListeners | undefined;
  let web: WebApp | undefined;
  let versionServer: VersionServer;
  try {
    const { certificates } = services;
    await certificates.open(services.signal);
    const { env = {}, upstreamCa, upgradeLimit: limit } = deps;
    const facts = (): ProxyFacts => ({ web_certificates: [...certificates.facts()], failed_reload: deps.failedReload?.() });
    versionServer = await openVersionServer({ ...services, env, upstreamCa, limit, facts });
    web = await createWebApp({ ...services, versionServer, packagesDir: config.packagesDir, ping: () => requireOpen(listeners).ping() });
    listeners = await openListeners(config, { ...services, web, mode: deps.listenerMode });
  } catch (error) {
    stop.abort();
    await web?.close();
    throw error;
  }
  services.access.onConnected(versionServer.reportSoon);
  services.certificates.onChange(versionServer.reportSoon);
  const follow = Promise.all([followAuth(services, requireOpen(listeners), deps), versionServer.run(services.signal), services.sendRecordings()]);
  const parts: RunningParts = { services, listeners, web, stop, follow };
  return {
    clusterName: services.cluster,
    get addresses() {
      return requireOpen(listeners).addresses();
    },
    certificates: services.certificates,
    reportSoon: versionServer.reportSoon,
    registry: services.registry,
    expected: services.expected,
    failed: services.life.failed.promise,
    get streams() {
      return services.relaying.size;
    },
    drain: (graceMs) => drain(parts, graceMs),
    retire: (ended) => retire(parts, ended),
    close: () => close(parts),
  };
}

function requireOpen(listeners: ProxyListeners | undefined): ProxyListeners {
  if (listeners === undefined) throw new Error("the proxy's listeners are not open yet");
  return listeners;
}

export type ProxyServices = ReturnType<typeof createServices>;

function createServices(config: ProxyConfig, deps: ProxyDeps, signal: AbortSignal) {
  const { log, auth, relayAuth } = deps;
  const now = deps.now ?? (() => new Date());
  const clock = deps.clock ?? (() => performance.now());
  const identity = new CurrentIdentity(deps.credentials);
  const { cluster } = identity.current();
  const { sshAlgorithms: algorithms } = config;
  const relaying: RelayedStreams = new RelayedStreams(() => worked());
  const isBusy = (): boolean => relaying.size > 0;
  /** A burst of tunnels leaves much freed memory behind, half of what a thousand take; large copies too. */
  const worked = whenQuiet({ isBusy, act: () => giveBack(log, { isBusy }) }, signal);
  const life = { retired: false, modeIsKnown: false, failed: Promise.withResolvers<never>() };
  // Nobody may be waiting for it.
  life.failed.promise.catch(() => {});
  const access = new AccessCache({ auth, log, clock });
  const audit = new AuditQueue({ auth, log, clusterName: cluster, now, signal });
  const { between, run: sendRecordings } = openBetween({ folder: join(config.dataDir, "proxy"), auth, access, audit, log, now, algorithms, signal });
  return {
    config,
    log,
    auth,
    relayAuth,
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
    registry: new TunnelRegistry(),
    findSession: (sid: string) => findSession(auth, sid),
    statuses: new StatusReports({ auth, log, signal }),
    expected: new ExpectedHosts(),
    findDirect: async (target: string) => await findDirectTargets(auth, target),
    running: new RunningStreams({ log, now }),
    sockets: deps.sockets,
    life,
    retired: () => life.retired,
    halfOpen: new HalfOpen(maxHalfOpen),
    failed: new FailedArrivals({ log, clock }),
    certificates: new WebCertificates(config.keypairs, { log, now, inUse: deps.certificatesInUse }),
    relaying,
    tunnelsChanged: worked,
  };
}

/** What the auth service says reaches the tunnels. Returns what ends with the signal. */
function followAuth(services: ProxyServices, listeners: ProxyListeners, deps: ProxyDeps): Promise<void> {
  const { access, registry, log, signal, clock, audit } = services;
  const tellTunnels = (): void => {
    for (const tunnel of registry.all()) tunnel.send({ type: "access", ...accessRevisions(access) });
  };
  access.onAccess((newest) => {
    const { locks } = newest;
    // First: once the agents have new certificates, people check this proxy's by the same keys.
    deps.credentials.learn(newest);
    tellTunnels();
    services.running.apply(locks);
  });
  access.onProxies(tellTunnels);
  access.onRemoved((hosts) => {
    services.running.removed(hosts);
    for (const host of hosts) {
      for (const tunnel of registry.ofHost(host)) {
        log.info("host was removed: its tunnel ends", { host });
        tunnel.end();
      }
    }
  });
  access.onConnected(() => {
    if (!services.retired()) void reportAll(registry, services).catch((error: unknown) => log.error("reporting hosts failed", { error }));
    if (deps.followsMode === true) void followMode(services, { listeners, isFirst: deps.listenerMode === undefined });
  });
  const silence = new SilenceWatch(registry, services);
  const sweeping = setInterval(() => {
    audit.sumUp();
    services.failed.tell();
    if (!services.retired()) silence.look(clock());
    for (const dead of registry.sweep(clock())) log.warn("agent is silent: its tunnel ends", { host: dead.identity.id, name: dead.facts.hostname });
  }, sweepMs);
  signal.addEventListener("abort", () => clearInterval(sweeping), { once: true });
  return access.run(signal, formatHostPort(publicAddress(listeners.ping())));
}

/** A first mode that this proxy cannot serve ends it: it would tell agents and people ports that it does not have. Never throws. */
async function followMode(services: ProxyServices, { listeners, isFirst }: { listeners: ProxyListeners; isFirst: boolean }): Promise<void> {
  const { auth, log, life } = services;
  let mode: ListenerMode;
  try {
    mode = listenerModeOf(await auth.getCluster({}));
  } catch (error) {
    return log.warn("the auth service's proxy_listener_mode is not known", { error });
  }
  try {
    await listeners.follow(mode);
    life.modeIsKnown = true;
  } catch (thrown) {
    const error = toPlatformError(thrown);
    if (isFirst && !life.modeIsKnown) life.failed.reject(error);
    else log.error("the ports of the auth service's new proxy_listener_mode cannot be opened: the old ones stay", { mode, error, hint: error.hint });
  }
}

export function listenerModeOf({ proxyListenerMode }: { readonly proxyListenerMode: string }): ListenerMode {
  return proxyListenerMode === "separate" ? "separate" : "multiplex";
}

interface RunningParts {
  readonly services: ProxyServices;
  readonly listeners: ProxyListeners;
  readonly web: WebApp;
  readonly stop: AbortController;
  readonly follow: Promise<unknown>;
}

async function drain({ services, listeners }: RunningParts, graceMs: number): Promise<void> {
  const { registry, relaying, signal, audit } = services;
  await listeners.close();
  audit.sumUp(true);
  for (const tunnel of registry.all()) tunnel.send({ type: "drain" });
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(Math.max(graceMs, farewellMs))]);
  await Promise.race([Promise.all([relaying.closed(), audit.flushed(), wait(farewellMs / 5, signal)]), wait(graceMs + farewellMs, deadline)]);
}

/** How often a process that another one has replaced looks whether it may end, ms. */
const retiredLookMs = 200;
/** It stays for this long at least, ms: requests may be on their way on connections that had been accepted. */
const retiredMinMs = 2_000;
/** From then on idle connections of the web are closed, ms: their owners open the next one to the new process. */
const webIdleMs = 5_000;

/**
 * Connections that had been accepted get what they came for; agents open their next tunnel to the process that took over,
 * and keep the one to this process for a while, so that a client in the middle of its handshake is still served.
 */
async function retire({ services, listeners, web }: RunningParts, signal: AbortSignal): Promise<void> {
  const { registry, relaying, halfOpen, audit, life, clock } = services;
  const since = clock();
  life.retired = true;
  await listeners.close();
  const told = new WeakSet<object>();
  const isBusy = (): boolean => relaying.size > 0 || halfOpen.size > 0 || web.requests > 0;
  do {
    for (const tunnel of registry.all()) {
      if (!told.has(tunnel)) tunnel.send({ type: "drain" });
      told.add(tunnel);
    }
    if (clock() - since >= webIdleMs) web.closeIdle();
    await wait(retiredLookMs, signal);
  } while ((isBusy() || clock() - since < retiredMinMs) && !signal.aborted);
  audit.sumUp(true);
  await Promise.race([audit.flushed(), wait(farewellMs, signal)]);
}

async function close({ services, listeners, web, stop, follow }: RunningParts): Promise<void> {
  await listeners.close();
  for (const tunnel of [...services.registry.all()]) tunnel.end();
  stop.abort();
  await web.close();
  listeners.destroyAll();
  await follow;
}
