import type { UpgradeChannel } from "../../core/config/upgrade-channels.ts";
import type { Log } from "../../core/log/log.ts";
import type { FailedReload } from "../../core/resources/proxy-facts.ts";
import type { RecordingMode } from "../../core/resources/recording.ts";
import type { DiskRoom } from "../storage/disk-room.ts";
import type { Storage } from "../storage/storage.ts";
import type { AuditLog } from "./audit/audit-log.ts";
import type { AuditStore } from "./audit/audit-store.ts";
import type { AuditShipping } from "./audit/shipping/audit-shipping.ts";
import type { Authorities } from "./authority/open-authorities.ts";
import type { LiveChannels } from "./inventory/live-channels.ts";
import type { LiveNodes } from "./inventory/live-nodes.ts";
import type { LiveProxies } from "./inventory/live-proxies.ts";
import type { ProxyReports } from "./inventory/proxy-reports.ts";
import type { RecordedNames } from "./inventory/recorded-names.ts";
import type { Turns } from "./login/turns.ts";
import type { LiveOffered } from "./offered/live-offered.ts";
import type { Cluster } from "./open-cluster.ts";
import type { PresenceWatch } from "./presence/presence-watch.ts";
import type { HostQuotas } from "./quotas/host-quotas.ts";
import type { Recordings } from "./recordings/recordings.ts";
import type { Rollouts } from "./rollout/rollouts.ts";
import type { PasswordHasher } from "./users/password.ts";

/** What the parts of the auth service work with; made once by `openAuth`. */
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
  /** What each host may have stored. */
  readonly quotas: HostQuotas;
  readonly authorities: Authorities;
  readonly audit: AuditLog;
  readonly auditStore: AuditStore;
  readonly shipping: AuditShipping;
  readonly hasher: PasswordHasher;
  readonly live: LiveNodes;
  readonly proxies: LiveProxies;
  /** Resources that hosts offer. */
  readonly offered: LiveOffered;
  /** Under which names hosts are recorded. */
  readonly names: RecordedNames;
  /** What the proxies' version channels answer. */
  readonly channels: LiveChannels;
  /** What proxies say of themselves. */
  readonly proxyReports: ProxyReports;
  /** Of this process, where no proxy of it tells. */
  readonly failedReload: () => FailedReload | undefined;
  readonly rollouts: Rollouts;
  /** The auth service's own word on channels; for those that it does not name, the proxies' counts. */
  readonly upgradeChannels: Readonly<Record<string, UpgradeChannel>>;
  /** Which hosts are gone. */
  readonly presence: PresenceWatch;
  /** One login at a time for each user name, and one report of sessions for each host. */
  readonly turns: Turns;
  /** Of each user name, logins that have to wait wait one after the other. */
  readonly slowTurns: Turns;
  /** One change at a time of each user's connections. */
  readonly connectionTurns: Turns;
  readonly log: Log;
  readonly now: () => Date;
}
