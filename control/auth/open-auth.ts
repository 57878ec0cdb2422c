import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { AuthClient } from "../../core/api/auth-client.ts";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { createQueues } from "../../core/limits/queue.ts";
import type { Log } from "../../core/log/log.ts";
import type { Node } from "../../core/resources/node.ts";
import type { FailedReload } from "../../core/resources/proxy-facts.ts";
import { recordedAt } from "../../core/resources/recording.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import { ListenSockets } from "../../core/transport/listen-sockets.ts";
import { version } from "../../core/versions/version.ts";
import type { AuthConfig } from "../config.ts";
import { type DiskFacts, DiskRoom } from "../storage/disk-room.ts";
import { openSqlite } from "../storage/sqlite.ts";
import type { Storage } from "../storage/storage.ts";
import { writeAdminFile } from "./admin-file.ts";
import { createAuthServer } from "./api/auth-server.ts";
import type { Caller } from "./api/caller.ts";
import { listenTcp, type TcpListener } from "./api/listen-tcp.ts";
import { localClient } from "./api/local-client.ts";
import { createAuditLog } from "./audit/audit-log.ts";
import { type AuditStore, openAuditStore } from "./audit/audit-store.ts";
import { keepAudit } from "./audit/keep-audit.ts";
import { AuditShipping } from "./audit/shipping/audit-shipping.ts";
import type { AuthContext } from "./auth-context.ts";
import { followAuthorities } from "./authority/follow-authorities.ts";
import { openAuthorities } from "./authority/open-authorities.ts";
import { dropLostProxies } from "./inventory/cluster-proxies.ts";
import { hostWrite, removedKey } from "./inventory/host-records.ts";
import { LiveChannels } from "./inventory/live-channels.ts";
import { LiveNodes } from "./inventory/live-nodes.ts";
import { LiveProxies } from "./inventory/live-proxies.ts";
import { issueLocalHost } from "./inventory/local-host.ts";
import { proxyNamesWrite } from "./inventory/names-in-use.ts";
import { listNodes } from "./inventory/nodes.ts";
import { ProxyReports } from "./inventory/proxy-reports.ts";
import { RecordedNames } from "./inventory/recorded-names.ts";
import { anonymousLimit, createRateLimit, type RateLimitOptions } from "./login/rate-limit.ts";
import { lookWhileServing } from "./look-while-serving.ts";
import { authMetrics } from "./metrics/auth-metrics.ts";
import { LiveOffered } from "./offered/live-offered.ts";
import { type Cluster, clusterNameWarnings, openCluster } from "./open-cluster.ts";
import { openOwnCertificate } from "./own-certificate.ts";
import { PresenceWatch } from "./presence/presence-watch.ts";
import { createHostQuotas } from "./quotas/host-quotas.ts";
import { openRecordings } from "./recordings/recordings.ts";
import { createPresets } from "./roles/presets.ts";
import { logUnreadableRoles, readRoles } from "./roles/stored-role.ts";
import { warnOfUnknownResources } from "./roles/unknown-resources.ts";
import { Rollouts } from "./rollout/rollouts.ts";
import { createPasswordHasher, type HashCost } from "./users/password.ts";

/** Maximum queued logins of one user name, each up to 10 s. */
const maxSlow = 3;
/** Maximum queued connection attempts per user. */
const maxChanges = 10_000;

export interface AuthDeps {
  readonly log: Log;
  readonly now?: () => Date;
  /** Left out: its own address. */
  readonly sockets?: ListenSockets;
  /** For tests: the default is meant for production. */
  readonly hashCost?: HashCost;
  readonly anonymousLimit?: RateLimitOptions;
  /** The last reload of this process, if it failed and no proxy in the same process reports it. */
  readonly failedReload?: (() => FailedReload | undefined) | undefined;
  readonly diskFacts?: (folder: string) => DiskFacts;
}

export interface Auth {
  readonly clusterName: string;
  /** `sha256:…` of the host authority. */
  readonly caPin: string;
  /** PEM of the host authority. */
  readonly hostCaPem: string;
  /** Opens the TCP listener (port 0: any) and writes `admin.json` with its address. */
  listen(address: HostPort): Promise<HostPort>;
  /** Accepts a byte stream on which a client at `remoteAddress` will speak TLS. */
  inject(stream: Duplex, remoteAddress: string): void;
  /** A client within this process, with the rights of this role. */
  localClient(role: "proxy" | "auth"): AuthClient;
  /** A fresh identity for the proxy in this process: `names` go into its certificates. Request it again before it expires. */
  issueProxy(names: readonly string[]): Promise<HostCredentials>;
  /** Metrics in the text format of Prometheus. */
  metrics(): Promise<string>;
  /** Checks the presence of hosts, the roll-outs and the list of proxies now, besides the regular checks. */
  look(): Promise<void>;
  /**
   * Another process takes over: accepts no more connections, lets open calls finish and sends GOAWAY to connected clients.
   * Clients within this process still work, for the records of its last streams.
   */
  retire(): Promise<void>;
  close(): Promise<void>;
}

/** Interval of summing up counted refusals, and of checks of the disk, ms. */
const sumUpMs = 15_000;

/** Opens storage and audit log, creates authorities and presets at the first start. Throws PlatformError; opens no port. */
export async function openAuth(config: AuthConfig, deps: AuthDeps): Promise<Auth> {
  const now = deps.now ?? (() => new Date());
  const folder = join(config.dataDir, "auth");
  const room = new DiskRoom({ folder, log: deps.log, ...(deps.diskFacts && { facts: deps.diskFacts }) });
  const onFull = (): boolean => room.giveUp();
  const storage = openSqlite({ path: join(folder, "state.sqlite"), now, onFull });
  let auditStore: AuditStore | undefined;
  try {
    auditStore = openAuditStore(join(folder, "audit.sqlite"), now, onFull);
    room.look();
    const { context, cluster } = await openContext(config, { ...deps, now }, { storage, auditStore, room });
    return await createAuth(context, { config, deps, cluster, adminFile: join(folder, "admin.json") });
  } catch (thrown) {
    auditStore?.close();
    await storage.close();
    throw thrown;
  }
}

async function openContext(
  config: AuthConfig,
  deps: AuthDeps & { now: () => Date },
  stores: { storage: Storage; auditStore: AuditStore; room: DiskRoom },
): Promise<{ context: AuthContext; cluster: Cluster }> {
  const { log, now } = deps;
  const { clusterName, listenerMode, defaultSessionTtlSeconds, sessionRecording } = config;
  const cluster = await openCluster(stores.storage, clusterName);
  for (const warning of clusterNameWarnings(clusterName)) log.warn(warning);
  const authorities = await openAuthorities(stores.storage, { cluster: clusterName, now: now() });
  await createPresets(stores.storage);
  const { roles, unreadable } = await readRoles(stores.storage);
  warnOfUnknownResources(roles, log);
  logUnreadableRoles(unreadable, log);
  await keepProxyRecord(stores.storage, cluster.proxyId, config.nodename);
  const audit = createAuditLog(stores.auditStore, { clusterName, now, log, isLow: () => stores.room.isLow });
  const hasher = createPasswordHasher(deps.hashCost);
  const { nodename } = config;
  const { failedReload = () => undefined } = deps;
  const own = {
    clusterName,
    cluster,
    nodename,
    listenerMode,
    defaultSessionTtlSeconds,
    sessionRecording,
    authorities,
    audit,
    hasher,
    log,
    now,
    failedReload,
  };
  const live = {
    live: new LiveNodes(),
    offered: new LiveOffered(),
    proxies: new LiveProxies(now),
    channels: new LiveChannels(now, log),
    proxyReports: new ProxyReports(now),
  };
  const shipping = new AuditShipping(stores.auditStore, { destinations: config.audit, log });
  const watched = { ...live, storage: stores.storage, audit, log, now };
  const channelWarnings = (): readonly string[] => live.channels.troubleWarnings((proxy) => live.proxies.addressOf(proxy) ?? proxy);
  const rollouts = new Rollouts({ ...watched, channelWarnings, nodes: () => listNodes(watched) });
  const presence = new PresenceWatch(watched);
  const recordings = await openRecordings({
    dir: join(config.dataDir, "auth", "recordings"),
    audit,
    room: stores.room,
    isAtProxy: recordedAt(config.sessionRecording)?.place === "proxy",
  });
  const { upgradeChannels = {} } = config;
  const quotas = createHostQuotas(now);
  const names = new RecordedNames({ storage: stores.storage, log });
  return {
    context: { ...own, upgradeChannels, ...stores, ...live, ...openQueues(), rollouts, presence, shipping, recordings, quotas, names },
    cluster,
  };
}

/** Work of one user, one address or one connection after the other. */
function openQueues(): Pick<AuthContext, "queues" | "slowQueues" | "connectionQueues"> {
  return {
    queues: createQueues({ atOnce: 1, waiting: 15 }),
    slowQueues: createQueues({ atOnce: 1, waiting: maxSlow - 1 }),
    connectionQueues: createQueues({ atOnce: 1, waiting: maxChanges - 1 }),
  };
}

interface Parts {
  readonly config: AuthConfig;
  readonly deps: AuthDeps;
  readonly cluster: Cluster;
  readonly adminFile: string;
}

async function createAuth(context: AuthContext, { config, deps, cluster, adminFile }: Parts): Promise<Auth> {
  const { clusterName, storage, now } = context;
  const stop = new AbortController();
  /** Ends calls over the network. */
  const remote = new AbortController();
  const sockets = deps.sockets ?? new ListenSockets();
  const rateLimit = createRateLimit(deps.anonymousLimit ?? anonymousLimit);
  const names = [...new Set([config.nodename, ...config.names, "localhost", "127.0.0.1", "::1"])];
  const own = await openOwnCertificate(context, { id: cluster.authId, names, renewed: () => writeAdmin() });
  const server = createAuthServer({ context, rateLimit, identity: (servername) => own.chain(servername), shutdown: remote.signal });
  const listeners: TcpListener[] = [];
  const writeAdmin = (): void => {
    if (listeners[0] !== undefined) writeAdminFile(adminFile, own.credentials, listeners[0].address);
  };
  const looking = await workWhileServing(context, config, sockets);
  const following = followAuthorities(context, stop.signal);
  const summing = sumUpRegularly(context);
  return {
    clusterName,
    caPin: context.authorities.host.pin,
    hostCaPem: context.authorities.host.pem,
    listen: async (address) => {
      const take = (socket: Duplex, remoteAddress: string): void => server.accept(socket, remoteAddress);
      const listener = await listenTcp(address, { sockets, log: context.log, take });
      listeners.push(listener);
      writeAdmin();
      return listener.address;
    },
    inject: (stream, remoteAddress) => server.accept(stream, remoteAddress),
    localClient: (role) => {
      const caller = (): Caller => localCaller(role, cluster, now());
      return localClient({ context, rateLimit, caller, shutdown: stop.signal });
    },
    issueProxy: async (proxyNames) => {
      await storage.put(proxyNamesWrite(cluster.proxyId, { hostname: config.nodename, names: proxyNames }));
      return await issueLocalHost(context, { hostId: cluster.proxyId, role: "proxy", names: [...new Set([config.nodename, ...proxyNames])] });
    },
    metrics: () => authMetrics(context),
    look: async () => void (await Promise.all([context.presence.look(), context.rollouts.look(), dropLostProxies(context)])),
    retire: async () => {
      own.stop();
      await looking[Symbol.asyncDispose]();
      await Promise.all(listeners.map((listener) => listener.close()));
      remote.abort();
      await server.close();
    },
    close: async () => {
      own.stop();
      clearInterval(summing);
      stop.abort();
      remote.abort();
      await Promise.all(listeners.map((listener) => listener.close()));
      await server.close();
      await looking[Symbol.asyncDispose]();
      await following;
      await closeStores(context);
    },
  };
}

function sumUpRegularly({ audit, room }: AuthContext): NodeJS.Timeout {
  const sumUp = (): void => {
    audit.sumUp();
    room.look();
  };
  return setInterval(sumUp, sumUpMs).unref();
}

async function closeStores({ audit, recordings, auditStore, storage }: AuthContext): Promise<void> {
  audit.sumUp(true);
  recordings.close();
  auditStore.close();
  await storage.close();
}

/** Regular checks and audit log maintenance; its end waits for both. */
async function workWhileServing(context: AuthContext, { audit }: AuthConfig, sockets: ListenSockets): Promise<AsyncDisposable> {
  const looking = await lookWhileServing(context, sockets);
  const keeping = keepAudit(context, { sockets, retentionSeconds: audit?.audit_retention });
  return {
    [Symbol.asyncDispose]: async () => {
      await looking[Symbol.asyncDispose]();
      await keeping[Symbol.asyncDispose]();
    },
  };
}

function localCaller(role: "proxy" | "auth", { name, authId, proxyId }: Cluster, now: Date): Caller {
  const validBefore = new Date(now.getTime() + 60_000);
  const id = role === "auth" ? authId : proxyId;
  return { kind: "host", identity: { kind: "host", id, role, cluster: name, names: [], validBefore }, address: "" };
}

/** The proxy in this process needs no token, and joins again at each start. */
async function keepProxyRecord(storage: Storage, id: string, hostname: string): Promise<void> {
  const proxy: Node = { kind: "node", version: "v2", metadata: { name: id }, spec: { hostname, services: [], version } };
  await storage.batch([hostWrite("proxy", proxy), { key: removedKey(id) }]);
}
