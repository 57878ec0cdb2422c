import { toPlatformError } from "../../core/errors/platform-error.ts";
import { formatHostPort } from "../../core/transport/host-port.ts";
import type { ProxyListeners } from "./open-listeners.ts";
import type { ListenerMode, ProxyDeps, ProxyServices } from "./proxy-services.ts";
import { accessRevisions } from "./routing/access-cache.ts";
import { reportAll, SilenceWatch } from "./tunnels/report-node.ts";
import { publicAddress } from "./web-api/ping.ts";

/** Interval of checks for dead tunnels, ms: one timer for all of them. */
const sweepMs = 2000;

/** Time for which changes of resources are gathered before they are passed on to the agents, ms: an admin may create hundreds at once. */
const gatherMs = 300;

/** Passes the auth service's changes to the tunnels. Returns the work that ends with the signal. */
export function followAuth(services: ProxyServices, listeners: ProxyListeners, deps: ProxyDeps): Promise<void> {
  const { access, registry, log, signal, clock, audit } = services;
  const tellTunnels = (): void => {
    for (const tunnel of registry.all()) tunnel.send({ type: "access", ...accessRevisions(access) });
  };
  access.onAccess((newest) => {
    const { locks } = newest;
    // First: once the agents have new certificates, users verify this proxy's by the same keys.
    deps.credentials.learn(newest);
    tellTunnels();
    services.running.apply(locks);
  });
  deps.credentials.onRenewed(() => access.moveWatch());
  access.onProxies(tellTunnels);
  access.onResources(together(tellTunnels));
  access.onRemoved((hosts) => {
    services.running.removed(hosts);
    for (const host of hosts) {
      for (const tunnel of registry.ofHost(host)) {
        log.info("host was removed: closing its tunnel", { host });
        tunnel.end();
      }
    }
  });
  access.onConnected(() => {
    services.hosts.retry();
    if (!services.retired()) void reportAll(registry, services).catch((error: unknown) => log.error("could not report hosts", { error }));
    if (deps.followsMode === true) void followMode(services, { listeners, isFirst: deps.listenerMode === undefined });
  });
  const silence = new SilenceWatch(registry, services);
  const sweeping = setInterval(() => {
    audit.sumUp();
    services.failed.tell();
    if (!services.retired()) silence.look(clock());
    for (const dead of registry.sweep(clock()))
      log.warn("agent stopped responding: closing its tunnel", { host: dead.identity.id, name: dead.facts.hostname });
  }, sweepMs);
  signal.addEventListener("abort", () => clearInterval(sweeping), { once: true });
  const watches = [access.run(signal, formatHostPort(publicAddress(listeners.ping()))), services.hosts.run(signal)];
  return Promise.all(watches).then(() => {});
}

/** Does the work once for all calls within a moment. */
function together(work: () => void): () => void {
  let isPlanned = false;
  return () => {
    if (isPlanned) return;
    isPlanned = true;
    setTimeout(() => {
      isPlanned = false;
      work();
    }, gatherMs).unref();
  };
}

/** A first mode that this proxy cannot serve ends it: it would announce ports that it does not have. Never throws. */
async function followMode(services: ProxyServices, { listeners, isFirst }: { listeners: ProxyListeners; isFirst: boolean }): Promise<void> {
  const { auth, log, life } = services;
  let mode: ListenerMode;
  try {
    mode = listenerModeOf(await auth.getCluster({}));
  } catch (error) {
    return log.warn("unknown proxy_listener_mode from the auth service", { error });
  }
  try {
    await listeners.follow(mode);
    life.modeIsKnown = true;
  } catch (thrown) {
    const error = toPlatformError(thrown);
    if (isFirst && !life.modeIsKnown) life.failed.reject(error);
    else log.error("could not open the ports of the auth service's new proxy_listener_mode: keeping the old ones", { mode, error, hint: error.hint });
  }
}

export function listenerModeOf({ proxyListenerMode }: { readonly proxyListenerMode: string }): ListenerMode {
  return proxyListenerMode === "separate" ? "separate" : "multiplex";
}
