import type { UserIdentity } from "../../../core/identity/identity.ts";
import type { StreamKind } from "../../../core/kinds/stream-kinds.ts";
import type { Log } from "../../../core/log/log.ts";
import type { ActiveSession } from "../../../core/resources/session.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import type { CurrentIdentity } from "../identity/current-identity.ts";
import type { StandBetween } from "../recording/open-between.ts";
import type { ExpectedHosts } from "../tunnels/expected-hosts.ts";
import type { RoutedTunnel, TunnelRegistry } from "../tunnels/registry.ts";
import type { AccessCache } from "./access-cache.ts";
import type { AuditQueue } from "./audit-queue.ts";
import type { Target } from "./find-target.ts";
import type { HostDirectory } from "./host-directory.ts";
import type { LimitedStreams } from "./limited-streams.ts";
import type { RunningStreams } from "./running-streams.ts";

/** Dependencies for routing a stream. */
export interface RoutingServices {
  readonly log: Log;
  readonly access: Pick<AccessCache, "current" | "forUser">;
  readonly registry: Pick<TunnelRegistry<RoutedTunnel>, "find" | "newest" | "ofHost" | "arrival" | "offering" | "allOffering" | "offeredSoon">;
  /** The running session with this id. */
  readonly findSession: (sid: string) => Promise<ActiveSession | undefined>;
  readonly expected: Pick<ExpectedHosts, "settled" | "areComing">;
  /** Hosts whose tunnel is being reported to the auth service. */
  readonly arriving: Pick<ExpectedHosts, "settled">;
  /** Hosts that match a target, besides those with a tunnel here. */
  readonly hosts: Pick<HostDirectory, "find" | "offering" | "begun">;
  readonly identity: Pick<CurrentIdentity, "current">;
  readonly running: Pick<RunningStreams, "add" | "count" | "extend">;
  readonly limited: Pick<LimitedStreams, "add">;
  /** The client's stream for a channel to a host, where proxies record. */
  readonly between: StandBetween;
  readonly audit: Pick<AuditQueue, "emit" | "emitRefusal">;
  readonly cancels: FindsThreads;
  readonly cluster: string;
  readonly now: () => Date;
}

/** As CancelRequests of the database ports. */
interface FindsThreads {
  threadOf(connection: { readonly database: string; readonly own: number }, peer: string): Promise<number | undefined>;
}

/** The part of a request that a client sets. */
export type ClientRequest<Kind extends StreamKind = StreamKind> = { [One in Kind]: Pick<StreamRequest<One>, "kind" | "target" | "parameters"> }[Kind];

export interface StreamAsk<Kind extends StreamKind = StreamKind> {
  readonly identity: UserIdentity;
  readonly request: ClientRequest<Kind>;
  /** `ip:port` of the client. */
  readonly clientAddress: string;
  /**
   * Id of the host whose agent comes first of those that offer a served resource, unless it alone does not reach it, or the user has many streams there; left
   * out: any.
   */
  readonly preferred?: string | undefined;
  /** Of a session that goes on over several streams; left out: a new one. */
  readonly sessionId?: string | undefined;
  /** Aborted when the client has left: no further agent is tried then. */
  readonly left?: AbortSignal | undefined;
}

/** The host of a stream as soon as a handler has chosen it, for the audit log and for a client in this process. */
export interface ChosenHost {
  host: (Pick<Target, "identity" | "facts"> & { readonly via?: Target["via"] }) | undefined;
}
