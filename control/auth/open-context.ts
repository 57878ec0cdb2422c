import { join } from "node:path";
import { createFairQueue } from "../../core/limits/fair-queue.ts";
import { createQueue, createQueues } from "../../core/limits/queue.ts";
import type { Log } from "../../core/log/log.ts";
import type { Node } from "../../core/resources/node.ts";
import type { FailedReload } from "../../core/resources/proxy-facts.ts";
import { recordedAt } from "../../core/resources/recording.ts";
import type { ListenSockets } from "../../core/transport/listen-sockets.ts";
import { version } from "../../core/versions/version.ts";
import type { AuthConfig } from "../config.ts";
import { createHostQuotas } from "../limits/host-quotas.ts";
import type { RateLimitOptions } from "../limits/request-limit.ts";
import type { DiskFacts, DiskRoom } from "../storage/disk-room.ts";
import type { Storage } from "../storage/storage.ts";
import { createPresets } from "./access/roles.ts";
import { logUnreadableRoles, readRoles, warnOfUnknownResources } from "./access/stored-role.ts";
import { createAuditLog } from "./audit/audit-log.ts";
import { AuditShipping } from "./audit/audit-shipping.ts";
import type { AuditStore } from "./audit/audit-store.ts";
import type { AuthContext } from "./auth-context.ts";
import { openAuthorities } from "./authority/open-authorities.ts";
import { UsedProofs } from "./certificates/used-proofs.ts";
import { hostWrite, removedKey } from "./inventory/host-records.ts";
import { LiveChannels } from "./inventory/live-channels.ts";
import { LiveNodes } from "./inventory/live-nodes.ts";
import { LiveOffered } from "./inventory/live-offered.ts";
import { LiveProxies, ProxyReports } from "./inventory/live-proxies.ts";
import { NamesInUse } from "./inventory/names-in-use.ts";
import { listNodes } from "./inventory/nodes.ts";
import { OfferRoom } from "./inventory/offer-room.ts";
import { PresenceWatch } from "./inventory/presence-watch.ts";
import { RecordedNames } from "./inventory/recorded-names.ts";
import { type Cluster, clusterNameWarnings, openCluster } from "./open-cluster.ts";
import { openRecordings } from "./recordings/recordings.ts";
import { Rollouts } from "./rollout/rollouts.ts";
import { StreamReporters } from "./sessions/stream-reporters.ts";
import type { OpenApi } from "./tokens/kubernetes-join.ts";
import { createPasswordHasher, type HashCost } from "./users/credentials.ts";

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
  /** The API server of the Kubernetes cluster in which this process is a pod. */
  readonly kubernetes?: OpenApi | undefined;
  readonly diskFacts?: (folder: string) => DiskFacts;
}

interface Stores {
  readonly storage: Storage;
  readonly auditStore: AuditStore;
  readonly room: DiskRoom;
}

/** The parts of the auth service over its stores. Creates authorities and presets at the first start. */
export async function openContext(
  config: AuthConfig,
  deps: AuthDeps & { now: () => Date },
  stores: Stores,
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
  const { failedReload = () => undefined, kubernetes } = deps;
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
    kubernetes,
  };
  const live = openLive({ now, log });
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
  const quotas = createHostQuotas(now, () => stores.room.spare, config.connectionsOfUser);
  const names = new RecordedNames({ storage: stores.storage, log });
  const namesInUse = new NamesInUse({ storage: stores.storage, clusterName, nodename, now });
  return {
    context: { ...own, upgradeChannels, ...stores, ...live, ...openQueues(), rollouts, presence, shipping, recordings, quotas, names, namesInUse },
    cluster,
  };
}

/** Maximum queued logins of one user name, each up to 10 s. */
const maxSlow = 3;
/** Maximum queued connection attempts per user. */
const maxChanges = 10_000;

/** What is known only while this process runs. */
function openLive({ now, log }: Pick<AuthContext, "now" | "log">) {
  const live = new LiveNodes();
  const offered = new LiveOffered(live);
  return {
    live,
    offered,
    offerRoom: new OfferRoom({ offered, live, log }),
    usedProofs: new UsedProofs(),
    proxies: new LiveProxies(now),
    streamReporters: new StreamReporters(now),
    channels: new LiveChannels(now, log),
    proxyReports: new ProxyReports(now),
  };
}

/** Work of one user, one address or one connection after the other. */
function openQueues(): Pick<AuthContext, "queues" | "longSearches" | "slowQueues" | "connectionQueues" | "reviews"> {
  return {
    queues: createQueues({ atOnce: 1, waiting: 15 }),
    longSearches: createQueue({ atOnce: 4, waiting: 12, what: "long searches of the audit log" }),
    slowQueues: createQueues({ atOnce: 1, waiting: maxSlow - 1 }),
    connectionQueues: createQueues({ atOnce: 1, waiting: maxChanges - 1 }),
    reviews: createFairQueue({ atOnce: 4, waiting: 200, what: "joins by service accounts" }),
  };
}

/** The proxy in this process needs no token, and joins again at each start. */
async function keepProxyRecord(storage: Storage, id: string, hostname: string): Promise<void> {
  const proxy: Node = { kind: "node", version: "v2", metadata: { name: id }, spec: { hostname, services: [], version } };
  await storage.batch([hostWrite("proxy", proxy), { key: removedKey(id) }]);
}
