import type { ProxyFacts } from "../../core/resources/proxy-facts.ts";
import type { ProxyConfig } from "../config.ts";
import { openBrowserFront } from "./app-front/open-browser-front.ts";
import { followAuth } from "./follow-auth.ts";
import type { WebCertificates } from "./identity/web-certificates.ts";
import { openListeners, type ProxyAddresses, type ProxyListeners } from "./open-listeners.ts";
import { createServices, type ProxyDeps, type ProxyServices } from "./proxy-services.ts";
import type { ExpectedHosts } from "./tunnels/expected-hosts.ts";
import type { TunnelRegistry } from "./tunnels/registry.ts";
import { openVersionServer, type VersionServer } from "./versions/open-version-server.ts";
import { wait } from "./wait.ts";
import type { PingFacts } from "./web-api/ping.ts";
import { createWebApp, type WebApp } from "./web-api/web-app.ts";

export interface ProxyService {
  readonly clusterName: string;
  /** Bound addresses. */
  readonly addresses: ProxyAddresses;
  readonly certificates: Pick<WebCertificates, "facts">;
  /** Reports this proxy's changed state to the auth service soon. */
  readonly reportSoon: () => void;
  readonly registry: TunnelRegistry;
  /** Hosts that will move here soon, because another process hands over to this one. */
  readonly expected: ExpectedHosts;
  /** Open streams of users. */
  readonly streams: number;
  /** Rejects when it cannot serve in the auth service's mode. */
  readonly failed: Promise<never>;
  /** Accepts no more connections, notifies the agents, and waits for streams at most this long, ms. */
  drain(graceMs: number): Promise<void>;
  /** Another process takes over: accepts no more connections, notifies the agents, and resolves when nothing is open, or at the signal. */
  retire(signal: AbortSignal): Promise<void>;
  /** Ends everything at once. */
  close(): Promise<void>;
}

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
    const ping = (): PingFacts => requireOpen(listeners).ping();
    const { serveBrowser, sessionsEnded, appSessions } = openBrowserFront({ ...services, ping });
    const receiveUpgraded: ProxyListeners["receiveUpgraded"] = (socket) => requireOpen(listeners).receiveUpgraded(socket);
    const ofWeb = {
      ...services,
      routing: services,
      versionServer,
      packagesDir: config.packagesDir,
      sessionsEnded,
      appSessions,
      ping,
      receiveUpgraded,
    };
    web = await createWebApp(ofWeb);
    listeners = await openListeners(config, { ...services, web, mode: deps.listenerMode, serveBrowser });
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

/** A running proxy. */
interface RunningParts {
  readonly services: ProxyServices;
  readonly listeners: ProxyListeners;
  readonly web: WebApp;
  readonly stop: AbortController;
  readonly follow: Promise<unknown>;
}

/* The three ways in which a proxy ends: in order (drain), for a process that takes over (retire), at once (close). */

/** Time to send the drain notice and the last audit events, ms. */
const farewellMs = 500;

async function drain({ services, listeners }: RunningParts, graceMs: number): Promise<void> {
  const { registry, relaying, signal, audit } = services;
  await listeners.close();
  audit.sumUp(true);
  for (const tunnel of registry.all()) tunnel.send({ type: "drain" });
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(Math.max(graceMs, farewellMs))]);
  await Promise.race([Promise.all([relaying.closed(), audit.flushed(), wait(farewellMs / 5, signal)]), wait(graceMs + farewellMs, deadline)]);
}

/** Interval at which a replaced process checks whether it may end, ms. */
const retiredLookMs = 200;
/** Minimum time before its end, ms: requests may be in flight on accepted connections. */
const retiredMinMs = 2_000;
/** Time after which idle connections are closed, ms: their clients then connect to the new process. */
const keptIdleMs = 5_000;

/**
 * Accepted connections are served; agents open their next tunnel to the process that took over,
 * and keep the one to this process for a while, so that a client in the middle of its handshake is still served.
 */
async function retire({ services, listeners, web }: RunningParts, signal: AbortSignal): Promise<void> {
  const { registry, relaying, opening, halfOpen, kept, audit, life, clock } = services;
  const since = clock();
  life.retired = true;
  await listeners.close();
  const notified = new WeakSet<object>();
  const isBusy = (): boolean => relaying.size > 0 || opening.size > 0 || halfOpen.size > 0 || web.requests > 0;
  do {
    for (const tunnel of registry.all()) {
      if (!notified.has(tunnel)) tunnel.send({ type: "drain" });
      notified.add(tunnel);
    }
    if (clock() - since >= keptIdleMs) kept.closeIdle();
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
