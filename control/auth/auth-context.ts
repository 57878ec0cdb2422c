import type { UpgradeChannel } from "../../core/config/upgrade-channels.ts";
import type { LeavableQueues, Queue, Queues } from "../../core/limits/queue.ts";
import type { Log } from "../../core/log/log.ts";
import type { FailedReload } from "../../core/resources/proxy-facts.ts";
import type { RecordingMode } from "../../core/resources/recording.ts";
import type { HostQuotas } from "../limits/host-quotas.ts";
import type { DiskRoom } from "../storage/disk-room.ts";
import type { Storage } from "../storage/storage.ts";
import type { AuditLog } from "./audit/audit-log.ts";
import type { AuditShipping } from "./audit/audit-shipping.ts";
import type { AuditStore } from "./audit/audit-store.ts";
import type { Authorities } from "./authority/open-authorities.ts";
import type { UsedProofs } from "./certificates/used-proofs.ts";
import type { LiveChannels } from "./inventory/live-channels.ts";
import type { LiveNodes } from "./inventory/live-nodes.ts";
import type { LiveOffered } from "./inventory/live-offered.ts";
import type { LiveProxies, ProxyReports } from "./inventory/live-proxies.ts";
import type { NamesInUse } from "./inventory/names-in-use.ts";
import type { OfferRoom } from "./inventory/offer-room.ts";
import type { PresenceWatch } from "./inventory/presence-watch.ts";
import type { RecordedNames } from "./inventory/recorded-names.ts";
import type { Cluster } from "./open-cluster.ts";
import type { Recordings } from "./recordings/recordings.ts";
import type { Rollouts } from "./rollout/rollouts.ts";
import type { StreamReporters } from "./sessions/stream-reporters.ts";
import type { OpenApi } from "./tokens/kubernetes-join.ts";
import type { PasswordHasher } from "./users/credentials.ts";

/** Shared context of the auth service's parts; made once by `openAuth`. */
export interface AuthContext {
  readonly clusterName: string;
  readonly cluster: Pick<Cluster, "authId" | "proxyId">;
  /** Name of this host. */
  readonly nodename: string;
  readonly listenerMode: "multiplex" | "separate";
  readonly defaultSessionTtlSeconds: number;
  readonly sessionRecording: RecordingMode;
  readonly recordings: Recordings;
  readonly storage: Storage;
  readonly room: DiskRoom;
  /** Storage quota of each host. */
  readonly quotas: HostQuotas;
  readonly authorities: Authorities;
  readonly audit: AuditLog;
  readonly auditStore: AuditStore;
  readonly shipping: AuditShipping;
  readonly hasher: PasswordHasher;
  readonly live: LiveNodes;
  readonly proxies: LiveProxies;
  readonly streamReporters: StreamReporters;
  /** Resources that hosts offer. */
  readonly offered: LiveOffered;
  /** Those of hosts that proxies dial, as far as proxies keep them. */
  readonly offerRoom: OfferRoom;
  /** Proofs of sessions that have had their certificate. */
  readonly usedProofs: UsedProofs;
  /** Names under which hosts are recorded. */
  readonly names: RecordedNames;
  /** Names of the cluster and of all hosts, by which those in certificates are judged. */
  readonly namesInUse: NamesInUse;
  /** Answers of the proxies' version channels. */
  readonly channels: LiveChannels;
  /** Reports of proxies about themselves. */
  readonly proxyReports: ProxyReports;
  /** A failed reload of this process, unless its proxy reports it. */
  readonly failedReload: () => FailedReload | undefined;
  readonly rollouts: Rollouts;
  /** The auth service's own configuration of channels; for other channels the proxies' answers apply. */
  readonly upgradeChannels: Readonly<Record<string, UpgradeChannel>>;
  /** Presence of hosts. */
  readonly presence: PresenceWatch;
  /** One login and one search of the audit log at a time for each user name, and one session report for each host. */
  readonly queues: LeavableQueues;
  /** Searches of the audit log that the first rows do not answer: one at a time for all users. */
  readonly longSearches: Queue;
  /** Delayed logins, one after the other for each user name. */
  readonly slowQueues: Queues;
  /** One change at a time of each user's connections. */
  readonly connectionQueues: Queues;
  /** The API server of the Kubernetes cluster in which this process is a pod. */
  readonly kubernetes: OpenApi | undefined;
  /** Of service accounts, by that API server; by the client's network. */
  readonly reviews: Queues;
  readonly log: Log;
  readonly now: () => Date;
}
