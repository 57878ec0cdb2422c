import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { AuthClient } from "../../core/api/auth-client.ts";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import { ListenSockets } from "../../core/transport/listen-sockets.ts";
import type { AuthConfig } from "../config.ts";
import { anonymousLimit, createRateLimit } from "../limits/request-limit.ts";
import { DiskRoom } from "../storage/disk-room.ts";
import { openSqlite } from "../storage/sqlite.ts";
import { localClient } from "./api/auth-routes.ts";
import { createAuthServer } from "./api/auth-server.ts";
import type { Caller } from "./api/caller.ts";
import { listenTcp, type TcpListener } from "./api/client-arrivals.ts";
import { type AuditStore, openAuditStore } from "./audit/audit-store.ts";
import type { AuthContext } from "./auth-context.ts";
import { authMetrics } from "./auth-metrics.ts";
import { followAuthorities } from "./authority/open-authorities.ts";
import { dropLostProxies } from "./inventory/cluster-proxies.ts";
import { proxyNamesWrite } from "./inventory/host-records.ts";
import { issueLocalHost, openOwnCertificate, writeAdminFile } from "./local-credentials.ts";
import type { Cluster } from "./open-cluster.ts";
import { type AuthDeps, openContext } from "./open-context.ts";
import { sumUpRegularly, workWhileServing } from "./work-while-serving.ts";

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
  const joinChecks = createRateLimit(deps.anonymousLimit ?? anonymousLimit);
  const names = [...new Set([config.nodename, ...config.names, "localhost", "127.0.0.1", "::1"])];
  const own = await openOwnCertificate(context, { id: cluster.authId, names, renewed: () => writeAdmin() });
  const server = createAuthServer({ context, rateLimit, joinChecks, identity: (servername) => own.chain(servername), shutdown: remote.signal });
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
      return localClient({ context, rateLimit, joinChecks, caller, shutdown: stop.signal });
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
      await server.retire();
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

async function closeStores({ audit, recordings, auditStore, storage }: AuthContext): Promise<void> {
  audit.sumUp(true);
  recordings.close();
  auditStore.close();
  await storage.close();
}

function localCaller(role: "proxy" | "auth", { name, authId, proxyId }: Cluster, now: Date): Caller {
  const validBefore = new Date(now.getTime() + 60_000);
  const id = role === "auth" ? authId : proxyId;
  return { kind: "host", identity: { kind: "host", id, role, cluster: name, names: [], validBefore }, address: "" };
}
