import { setMaxListeners } from "node:events";
import { caPin } from "../core/api/ca-pin.ts";
import type { HostCredentials } from "../core/api/host-credentials.ts";
import { errorText, PlatformError } from "../core/errors/platform-error.ts";
import { serviceKinds, serviceNames } from "../core/kinds/service-kinds.ts";
import { inCluster, isInCluster } from "../core/kubernetes/in-cluster.ts";
import { KubernetesApi } from "../core/kubernetes/kubernetes-api.ts";
import type { Log } from "../core/log/log.ts";
import type { FailedReload, WebCertificate } from "../core/resources/proxy-facts.ts";
import type { Env } from "../core/transport/dial/choose-proxy.ts";
import { formatHostPort, type HostPort } from "../core/transport/host-port.ts";
import { ListenSockets } from "../core/transport/listen-sockets.ts";
import { type Auth, openAuth } from "./auth/open-auth.ts";
import type { ControlConfig, ProxyConfig } from "./config.ts";
import { listenerModeOf } from "./proxy/follow-auth.ts";
import { joinAuth, proxyHostNames } from "./proxy/identity/join-auth.ts";
import { RenewingCredentials } from "./proxy/identity/renewing-credentials.ts";
import { proxyMetrics } from "./proxy/identity/web-certificates.ts";
import { openProxy, type ProxyService } from "./proxy/open-proxy.ts";
import type { ProxyDeps } from "./proxy/proxy-services.ts";
import type { HostNames } from "./proxy/tunnels/expected-hosts.ts";

/** The running services once everything configured is listening; ports are the bound ones. */
export interface ControlFacts {
  readonly clusterName: string;
  readonly caPins: readonly string[];
  /** A token for one agent in this process; usable once, for minutes. Throws `unsupported` without an auth service here. */
  createJoinToken(): Promise<string>;
  readonly authAddress?: HostPort | undefined;
  readonly webAddress?: HostPort | undefined;
  readonly sshAddress?: HostPort | undefined;
  readonly tunnelAddress?: HostPort | undefined;
}

/** This control's report about itself while it runs. */
export interface ControlReport {
  state(): { readonly cluster: string; readonly tunnels: number; readonly sessions: number; readonly connected: boolean };
  /** Certificates of the proxy's web address. */
  certificates(): readonly WebCertificate[];
  /** A fact about this process that the cluster is notified of has changed. */
  tellSoon(): void;
  /** Hosts with a tunnel here. */
  hosts(): readonly HostNames[];
  /** Hosts that are about to move here: another process hands over to this one. */
  expect(hosts: readonly HostNames[]): void;
  /** Metrics in the text format of Prometheus. */
  metrics(): Promise<string>;
}

export interface ControlDeps {
  readonly log: Log;
  readonly env: Env;
  /** Left out: its own clock. */
  readonly sockets?: ListenSockets | undefined;
  readonly report?: ((report: ControlReport) => void) | undefined;
  /** Another process takes over: ends once the last stream has ended. */
  /** State of the process that this one replaces. */
  readonly certificatesInUse?: readonly WebCertificate[] | undefined;
  /** The last reload, if it failed. */
  readonly failedReload?: (() => FailedReload | undefined) | undefined;
  readonly retire?: AbortSignal | undefined;
  readonly ready: (facts: ControlFacts) => void;
  readonly now?: (() => Date) | undefined;
  /** How long open streams may continue after the signal, ms. Default 0: they end right after the agents are notified. */
  readonly shutdownDelayMs?: number | undefined;
}

/**
 * Runs the auth service, the proxy service or both until the signal: then new connections are refused, agents are notified,
 * streams drain, and everything closes. Throws PlatformError when something cannot start.
 */
export async function runControl(config: ControlConfig, deps: ControlDeps, signal: AbortSignal): Promise<void> {
  const stop = new AbortController();
  setMaxListeners(0, signal, stop.signal);
  const opened: Opened = { ends: [] };
  const starting = { opened, deps, sockets: deps.sockets ?? new ListenSockets() };
  try {
    await startAuth(config, starting);
    if (config.proxy !== undefined) await startProxy(config.proxy, { ...starting, config, signal, stop: stop.signal });
    deps.report?.(report(opened, config));
    deps.ready(facts(opened, config));
    const { retire = new AbortController().signal } = deps;
    await Promise.race([aborted(signal), aborted(retire), ...(opened.proxy === undefined ? [] : [opened.proxy.failed])]);
    if (!signal.aborted) await retireAll(opened, deps.log, signal);
    // On a stop, streams of a replaced process get as much time as those of the main one.
    if (signal.aborted) {
      deps.log.info("control stops");
      await opened.proxy?.drain(deps.shutdownDelayMs ?? 0);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stop.abort();
    await closeAll(opened, deps.log);
  }
}

interface Opened {
  auth?: Auth;
  authAddress?: HostPort;
  /** Taken from the proxy's own credentials when the auth service is elsewhere. */
  caPins?: readonly string[];
  proxy?: ProxyService;
  /** Work that must end first. */
  readonly ends: Promise<void>[];
}

/** The auth service continues for its proxy until that has ended. */
async function retireAll({ proxy, auth }: Opened, log: Log, signal: AbortSignal): Promise<void> {
  log.info("control retires: another process has taken over");
  await Promise.all([proxy?.retire(signal), auth?.retire()]);
}

function report(opened: Opened, config: ControlConfig): ControlReport {
  const { proxy } = opened;
  const { clusterName } = facts(opened, config);
  return {
    state: () => ({ cluster: clusterName, tunnels: proxy?.registry.size ?? 0, sessions: proxy?.streams ?? 0, connected: true }),
    hosts: () =>
      [...(proxy?.registry.all() ?? [])].map(({ identity, facts: { hostname } }) => ({ id: identity.id, names: [...identity.names, hostname] })),
    certificates: () => proxy?.certificates.facts() ?? [],
    tellSoon: () => proxy?.reportSoon(),
    expect: (hosts) => proxy?.expected.expect(hosts),
    metrics: async () => ((await opened.auth?.metrics()) ?? "") + (await proxyMetrics(proxy?.certificates.facts() ?? [])),
  };
}

interface Starting {
  readonly opened: Opened;
  readonly sockets: ListenSockets;
  readonly deps: ControlDeps;
}

async function startAuth({ auth: config, proxy }: ControlConfig, { opened, deps, sockets }: Starting): Promise<void> {
  if (config === undefined) return;
  // The proxy in the same process reports it.
  const failedReload = proxy === undefined ? deps.failedReload : undefined;
  const log = deps.log.with({ service: "auth" });
  const { env } = deps;
  const kubernetes = isInCluster(env) ? async () => new KubernetesApi(await inCluster(env)) : undefined;
  opened.auth = await openAuth(config, { log, sockets, failedReload, kubernetes, ...(deps.now !== undefined && { now: deps.now }) });
  opened.authAddress = await opened.auth.listen(config.listen);
  log.info("auth service listens", { address: formatHostPort(opened.authAddress), cluster: opened.auth.clusterName });
}

/** Time for the auth service to report the wanted ports at the start, ms. */
const askMs = 3_000;

interface StartingProxy extends Starting {
  readonly config: ControlConfig;
  /** The request to stop, which ends waiting for the auth service. */
  readonly signal: AbortSignal;
  /** The end of everything. */
  readonly stop: AbortSignal;
}

async function startProxy(proxy: ProxyConfig, { opened, deps, sockets, config, signal, stop }: StartingProxy): Promise<void> {
  const log = deps.log.with({ service: "proxy" });
  const now = deps.now ?? (() => new Date());
  const { auth } = opened;
  const { env, certificatesInUse, failedReload } = deps;
  let parts: Pick<ProxyDeps, "auth" | "credentials" | "relayAuth" | "listenerMode" | "followsMode">;
  if (auth === undefined) {
    const remote = await joinAuth(proxy, { log, env: deps.env, now }, signal);
    opened.ends.push(remote.credentials.run(stop).finally(() => remote.connection.close()));
    opened.caPins = remote.credentials.current().hostCaPem.map(caPin);
    const { client } = remote.connection;
    // It starts even without an answer: its hosts have to reconnect.
    const cluster = await client.getCluster({}, { timeoutMs: askMs, signal }).catch(() => undefined);
    const listenerMode = cluster === undefined ? undefined : listenerModeOf(cluster);
    parts = { auth: client, credentials: remote.credentials, relayAuth: remote.relayAuth, listenerMode, followsMode: true };
  } else {
    const issue = (): Promise<HostCredentials> => auth.issueProxy(proxyHostNames(proxy));
    const credentials = new RenewingCredentials({ first: await issue(), renew: issue, log, now });
    opened.ends.push(credentials.run(stop));
    const relayAuth: ProxyDeps["relayAuth"] = (stream, remoteAddress) => auth.inject(stream, remoteAddress);
    parts = { auth: auth.localClient("proxy"), credentials, relayAuth, listenerMode: config.auth?.listenerMode };
  }
  opened.proxy = await openProxy(proxy, { ...parts, sockets, env, log, now, certificatesInUse, failedReload }, stop);
}

function facts({ auth, authAddress, caPins, proxy }: Opened, config: ControlConfig): ControlFacts {
  const bound = proxy?.addresses;
  const clusterName = auth?.clusterName ?? proxy?.clusterName ?? config.nodename;
  const pins = auth === undefined ? caPins : [auth.caPin];
  const addresses = { authAddress, webAddress: bound?.web, sshAddress: bound?.ssh, tunnelAddress: bound?.tunnel };
  return { clusterName, caPins: pins ?? [], createJoinToken: () => createJoinToken(auth), ...addresses };
}

/** Validity of the token for this process's agent, seconds. */
const localTokenSeconds = 600;

async function createJoinToken(auth: Auth | undefined): Promise<string> {
  if (auth === undefined) {
    throw new PlatformError("unsupported", "the auth service is on another host, so this one needs a join token", {
      hint: "set platform.auth_token (create one with `tctl tokens add --type=node`)",
    });
  }
  // All services: the admin of this host is that of the auth service.
  const roles = serviceNames.map((kind) => serviceKinds[kind].token);
  const { secret } = await auth.localClient("auth").createToken({ roles, ttlSeconds: localTokenSeconds, uses: 1, secret: "" });
  return secret;
}

/** The proxy first: it still needs the auth service while it closes. */
async function closeAll({ proxy, auth, ends }: Opened, log: Log): Promise<void> {
  for (const close of [() => proxy?.close(), () => Promise.all(ends), () => auth?.close()]) {
    try {
      await close();
    } catch (error) {
      log.error("could not close a service", { error: errorText(error) });
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
