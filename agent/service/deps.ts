import type { HostCredentials } from "../../core/api/host-credentials.ts";
import type { Log } from "../../core/log/log.ts";
import type { Recordings } from "../../core/recording-spool/recordings.ts";
import type { DocumentKind } from "../../core/resources/document.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import type { AccessSource } from "../access/access-source.ts";
import type { Spool } from "../audit/spool.ts";
import type { TakeLease } from "./connection-lease.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { UserShares } from "./user-shares.ts";

/** Dependencies of every service. */
export interface ServiceDeps {
  /** The newest host credentials: a new connection presents the newest certificate. */
  readonly credentials: () => HostCredentials;
  readonly access: AccessSource;
  readonly audit: Pick<Spool, "record">;
  readonly recordings: Pick<Recordings, "begin" | "sendNow">;
  /** Sessions that run in this process. */
  readonly live: LiveSessions;
  readonly node: { readonly name: string; readonly labels: Labels };
  /** For users whose connections are limited in the whole cluster (max_connections). */
  readonly lease: TakeLease;
  /** Connections of each user to this host, over all its services. */
  readonly shares: UserShares;
  /** Resources of the cluster, of a kind that this agent serves. Throws PlatformError. */
  readonly listResources: <T>(document: DocumentKind<T>) => Promise<readonly T[]>;
  readonly log: Log;
  readonly now?: () => Date;
}
