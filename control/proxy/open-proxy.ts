import type { Duplex } from "node:stream";
import type { AuthClient } from "../../core/api/auth-client.ts";
import type { Log } from "../../core/log/log.ts";
import { releaseMemory } from "../../core/memory/release-memory.ts";
import { whenQuiet } from "../../core/memory/when-quiet.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";
import { version } from "../../core/versions/version.ts";
import type { ProxyConfig } from "../config.ts";
import { HalfOpen } from "./front-door/half-open.ts";
import { CurrentIdentity, type HostCredentialsSource } from "./identity/current-identity.ts";
import { WebCertificates } from "./identity/web-certificates.ts";
import { openListeners, type ProxyListeners } from "./open-listeners.ts";
import { AccessCache } from "./routing/access-cache.ts";
import { AuditQueue } from "./routing/audit-queue.ts";
import { wait } from "./routing/wait.ts";
import { TunnelRegistry } from "./tunnels/registry.ts";
import { reportAll } from "./tunnels/report-node.ts";
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
  /** Left out: asked from the auth service; until it answers, the configured listeners tell. */
  readonly listenerMode?: ListenerMode | undefined;
  readonly now?: () => Date;
  readonly clock?: () => number;
}

export interface ProxyService {
  readonly clusterName: string;
  /** As bound. */
  readonly addresses: { readonly web: HostPort; readonly ssh?: HostPort | undefined; readonly tunnel?: HostPort | undefined };
  readonly registry: TunnelRegistry;
  /** Takes no more connections, tells the agents, and waits for streams at most this long, ms. */
  drain(graceMs: number): Promise<void>;
  /** Ends everything at once. */
  close(): Promise<void>;
}

/** Silent connections at a time; beyond, the oldest is dropped. */
const maxHalfOpen = 4096;
/** How often dead tunnels are looked for, ms: one timer for all of them. */
const sweepMs = 5000;
/** For the drain notice to leave and the last audit events to be sent, ms. */
const farewellMs = 500;

/** Starts the proxy service. Throws PlatformError when an address or certificate cannot be used. */
export async function openProxy(config: ProxyConfig, deps: ProxyDeps, signal: AbortSignal): Promise<ProxyService> {
  const stop = new AbortController();
  const services = createServices(config, deps, AbortSignal.any([signal, stop.signal]));
  let listeners: ProxyListeners | undefined;
  let web: WebApp | undefined;
  try {
    await services.certificates.open(services.signal);
    web = await createWebApp({ ...services, ping: () => requireOpen(listeners).ping() });
    listeners = await openListeners(config, { ...services, web: web.server, mode: deps.listenerMode });
  } catch (error) {
    stop.abort();
    await web?.close();
    throw error;
  }
  const follow = followAuth(services, requireOpen(listeners), deps);
  const parts: RunningParts = { services, listeners, web, stop, follow };
  return {
    clusterName: services.cluster,
    get addresses() {
      return requireOpen(listeners).addresses();
    },
    registry: services.registry,
    drain: (graceMs) => drain(parts, graceMs),
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
  const relaying = new Set<Promise<void>>();
  return {
    config,
    log,
    auth,
    relayAuth,
    now,
    clock,
    signal,
    identity,
    cluster,
    clusterName: cluster,
    version,
    access: new AccessCache({ auth, log, clock }),
    audit: new AuditQueue({ auth, log, clusterName: cluster, now, signal }),
    registry: new TunnelRegistry(),
    halfOpen: new HalfOpen(maxHalfOpen),
    certificates: new WebCertificates(config.keypairs, log),
    relaying,
    /** A burst of tunnels leaves much freed memory behind: half of what a thousand take. */
    tunnelsChanged: whenQuiet({ isBusy: () => relaying.size > 0, act: () => releaseMemory(log) }, signal),
  };
}

/** What the auth service says reaches the tunnels. Returns what ends with the signal. */
function followAuth(services: ProxyServices, listeners: ProxyListeners, deps: ProxyDeps): Promise<void> {
  const { access, registry, log, signal, clock, audit } = services;
  access.onRevision((accessRevision) => {
    for (const tunnel of registry.all()) tunnel.send({ type: "access", accessRevision });
  });
  access.onRemoved((hosts) => {
    for (const host of hosts) {
      for (const tunnel of registry.ofHost(host)) {
        log.info("host was removed: its tunnel ends", { host });
        tunnel.end();
      }
    }
  });
  access.onConnected(() => {
    void reportAll(registry, services).catch((error: unknown) => log.error("reporting hosts failed", { error }));
    if (deps.listenerMode === undefined) void listeners.askMode().catch((error: unknown) => log.warn("listener mode unknown", { error }));
  });
  const sweeping = setInterval(() => {
    audit.sumUp();
    for (const dead of registry.sweep(clock())) log.warn("agent is silent: its tunnel ends", { host: dead.identity.id, name: dead.facts.hostname });
  }, sweepMs);
  signal.addEventListener("abort", () => clearInterval(sweeping), { once: true });
  return access.run(signal, formatHostPort(publicAddress(listeners.ping())));
}

interface RunningParts {
  readonly services: ProxyServices;
  readonly listeners: ProxyListeners;
  readonly web: WebApp;
  readonly stop: AbortController;
  readonly follow: Promise<void>;
}

async function drain({ services, listeners }: RunningParts, graceMs: number): Promise<void> {
  const { registry, relaying, signal, audit } = services;
  await listeners.close();
  audit.sumUp(true);
  for (const tunnel of registry.all()) tunnel.send({ type: "drain" });
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(Math.max(graceMs, farewellMs))]);
  await Promise.race([
    Promise.all([Promise.all([...relaying]), audit.flushed(), wait(farewellMs / 5, signal)]),
    wait(graceMs + farewellMs, deadline),
  ]);
}

async function close({ services, listeners, web, stop, follow }: RunningParts): Promise<void> {
  await listeners.close();
  for (const tunnel of [...services.registry.all()]) tunnel.end();
  stop.abort();
  await web.close();
  listeners.destroyAll();
  await follow;
}
