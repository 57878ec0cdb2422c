import type { Duplex } from "node:stream";
import type { AuthClient } from "../../core/api/auth-client.ts";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import type { ServiceKind } from "../../core/kinds/service-kinds.ts";
import type { StreamKind } from "../../core/kinds/stream-kinds.ts";
import type { Log } from "../../core/log/log.ts";
import type { Recordings } from "../../core/recording-spool/recordings.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import type { Offered } from "../../core/resources/offered.ts";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import type { AccessSource } from "../access/access-source.ts";
import type { Spool } from "../audit/spool.ts";
import type { TakeLease, UserShares } from "./connection-limits.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { ResourceNews } from "./resource-news.ts";

/** A service that this host can run, as far as known before the host has joined. */
export interface Service {
  /** Also shown in the host's status and inventory. */
  readonly name: ServiceKind;
  /** Called once, when the host has joined; `signal` ends its background work. */
  open(deps: ServiceDeps, signal: AbortSignal): Promise<OpenedService>;
}

export interface OpenedService {
  readonly serve: Services;
  /** Omitted when the service offers the host itself. */
  readonly offered?: OfferedSource;
}

/** Serves a stream: writes the StreamReply, then the kind's bytes, until its end. Throws PlatformError only before its reply. */
export type Serve<Kind extends StreamKind = StreamKind> = (stream: Duplex, request: StreamRequest<Kind>, life: StreamLife) => Promise<void>;
/** By kind of stream. */
export type Services = { readonly [Kind in StreamKind]?: Serve<Kind> };

export interface StreamLife {
  /** Ends the stream. */
  readonly signal: AbortSignal;
  /** Called once its user has logged in: when this host is at its limit, streams without a logged-in user are dropped for others. */
  readonly established: () => void;
  /**
   * Takes a stream that comes inside this one: it counts as one that a proxy has opened, until it closes. Throws `limit`, and `unavailable` while the agent
   * is stopping. Left out: there are none.
   */
  readonly within?: (stream: Duplex) => StreamLife;
}

/** Resources that a service currently offers. */
export interface OfferedSource {
  /** Resolves once the list has been complete, or could not be fetched: a process that replaces another one must not offer less for a moment. */
  readonly settled?: Promise<void>;
  current(): readonly Offered[];
  onChange(listener: () => void): void;
}

/** Dependencies of every service. */
export interface ServiceDeps {
  /** The newest host credentials: a new connection presents the newest certificate. */
  readonly credentials: () => HostCredentials;
  readonly access: AccessSource;
  readonly audit: Pick<Spool, "record" | "hold">;
  readonly recordings: Pick<Recordings, "begin" | "keep" | "sendNow">;
  /** Sessions that run in this process. */
  readonly live: LiveSessions;
  readonly node: { readonly name: string; readonly labels: Labels };
  /** For users whose connections are limited in the whole cluster (max_connections). */
  readonly lease: TakeLease;
  /** Connections of each user to this host, over all its services. */
  readonly shares: UserShares;
  /** A client of the auth service. Throws `unavailable` while it cannot be reached. */
  readonly auth: () => Promise<AuthClient>;
  /** Resources of the cluster, of a kind that this agent serves, as JSON: a newer version may have written them. Throws PlatformError. */
  readonly listResources: (kind: string) => Promise<readonly { readonly name: string; readonly json: string }[]>;
  /** Changes of these resources. */
  readonly news: Pick<ResourceNews, "isLive" | "onNews">;
  readonly log: Log;
  readonly now?: () => Date;
}
