import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { errorText, PlatformError, toPlatformError } from "../core/errors/platform-error.ts";
import type { Log } from "../core/log/log.ts";
import type { SshAlgorithms } from "../core/ssh/algorithms.ts";
import { HalfOpen } from "../core/transport/arrivals/half-open.ts";
import { ipOf } from "../core/transport/host-port.ts";
import { readFrame } from "../core/transport/read-frame.ts";
import { decodeStreamRequest, encodeStreamReply, maxStreamMessage } from "../core/transport/stream-request.ts";
import type { AccessSource } from "./access/access-source.ts";
import type { AuthSource } from "./auth-source.ts";
import type { IdentityKeeper } from "./identity/identity-keeper.ts";
import type { HostLabels } from "./labels/host-labels.ts";
import type { Outbox } from "./outbox.ts";
import { openLeases, UserShares } from "./service/connection-limits.ts";
import { LiveSessions, reportSessions } from "./service/live-sessions.ts";
import { ResourceNews } from "./service/resource-news.ts";
import type { OfferedSource, Serve, Service, ServiceDeps, Services, StreamLife } from "./service/service.ts";
import type { ClientDeps } from "./ssh-server/client-deps.ts";
import { UserLimits } from "./ssh-server/user-limits.ts";

export interface ServingParts {
  readonly services: readonly Service[];
  readonly nodename: string;
  readonly identity: IdentityKeeper;
  readonly auth: AuthSource;
  readonly outbox: Outbox;
  readonly access: AccessSource;
  readonly labels: HostLabels;
  readonly log: Log;
  /** Algorithms offered to users who join a session; omitted for the defaults. */
  readonly algorithms?: SshAlgorithms | undefined;
  /** The user of a stream has logged in. */
  readonly onEstablished?: (() => void) | undefined;
}

export interface ServedStreams extends Streams {
  /** Identifies this process in reports of its sessions. */
  readonly process: string;
  /** Undefined: none of the services offers resources. */
  readonly offered: OfferedSource | undefined;
  /** A proxy reports the revision of the cluster's resources. */
  readonly onResources: (revision: string) => void;
}

/** Maximum wait for the resources of the cluster before the first tunnel, ms. */
const settleMs = 3_000;

/** Opens the services, and serves the streams that come through the tunnels. */
export async function serveStreams(parts: ServingParts, signal: AbortSignal): Promise<ServedStreams> {
  const { services, nodename, identity, auth, outbox, access, labels, log, algorithms, onEstablished } = parts;
  const { audit, recordings } = outbox;
  const node = {
    name: nodename,
    get labels() {
      return labels.current;
    },
  };
  const live = new LiveSessions();
  reportSessions({ live, client: () => auth.client(), log }, signal);
  const lease = openLeases({ client: () => auth.client(), log });
  const listResources: ServiceDeps["listResources"] = async (kind) => (await (await auth.client()).listResources({ kind })).resources;
  const facts = { credentials: () => identity.current(), access, audit, recordings, node, auth: () => auth.client(), listResources };
  const news = new ResourceNews();
  const deps: ServiceDeps = { ...facts, news, live, lease, shares: new UserShares(), log };
  const opened = await Promise.all(services.map((service) => service.open(deps, signal)));
  const sources = opened.flatMap(({ offered }) => offered ?? []);
  await Promise.race([Promise.all(sources.map(async ({ settled }) => await settled)), sleep(settleMs, undefined, { signal }).catch(() => {})]);
  const all: OfferedSource = {
    current: () => sources.flatMap((source) => source.current()),
    onChange: (listener) => {
      for (const source of sources) source.onChange(listener);
    },
  };
  const join = serveJoins({ ...deps, limits: new UserLimits(), algorithms });
  const streams = openStreams({ services: Object.assign({ join }, ...opened.map(({ serve }) => serve)), log, onEstablished }, signal);
  return Object.assign(streams, {
    process: live.process,
    offered: sources.length > 0 ? all : undefined,
    onResources: (revision: string) => news.announced(revision),
  });
}

/** Users who join a session of this process, of whichever service. Its code is loaded at the first one, to save memory in an idle agent. */
function serveJoins(deps: ClientDeps): Serve<"join"> {
  return async (stream, request, life) => {
    const { serveJoin } = await import("./session-join/serve-join.ts");
    await serveJoin(stream, request, deps, life);
  };
}

/** Maximum concurrent streams over all tunnels. */
const maxStreams = 1000;
/** Of them, those whose requests have not come, before the oldest are dropped for others. */
const mostUnasked = 128;
/** Timeout for the request of a stream, ms. */
const requestMs = 10_000;

interface Streams {
  readonly open: number;
  /** Serves one stream, from its request to its end. Never throws. */
  serve(channel: Duplex): Promise<void>;
  /** Refuses new streams from now on. */
  stop(): void;
}

type StreamsOptions = Pick<ServingParts, "log" | "onEstablished"> & { readonly services: Services };

/** Serves the streams that control opens. Aborting `signal` ends all of them. */
export function openStreams({ services, log, onEstablished = () => {} }: StreamsOptions, signal: AbortSignal): Streams {
  let open = 0;
  let stopping = false;
  /** Streams whose requests have not come: a proxy sends one at once, and they say nothing of their users. */
  const unasked = new HalfOpen(Number.POSITIVE_INFINITY);
  const dropUnasked = (): boolean => unasked.size > mostUnasked && unasked.makeRoom();
  /** Streams whose users have not logged in. */
  const waiting = new HalfOpen(Number.POSITIVE_INFINITY);
  /** Throws `limit`, `unavailable`. */
  const admit = (stream: Duplex, clientAddress: string): StreamLife => {
    if (stopping) throw new PlatformError("unavailable", "the agent on this host is stopping", { hint: "try again in a moment" });
    // Before the login only proxies know a stream's user, and each counts its own: so streams without a logged-in user are dropped first.
    if (open > maxStreams && !dropUnasked() && !waiting.makeRoom() && !unasked.makeRoom())
      throw new PlatformError("limit", `the agent on this host already serves ${maxStreams} streams (the maximum)`);
    waiting.enter(stream, ipOf(clientAddress));
    const within = (inner: Duplex): StreamLife => {
      open += 1;
      inner.once("close", () => (open -= 1));
      return admit(inner, clientAddress);
    };
    const established = (): void => {
      waiting.leave(stream);
      onEstablished();
    };
    return { signal, established, within };
  };
  const serveRequest = async (channel: Duplex): Promise<void> => {
    const body = await readFrame(channel, { maxLength: maxStreamMessage, timeoutMs: requestMs, what: "stream request", signal });
    const request = decodeStreamRequest(body);
    unasked.leave(channel);
    const serve = services[request.kind] as Serve | undefined;
    const life = admit(channel, request.clientAddress);
    if (serve === undefined) throw new PlatformError("unsupported", `this host does not serve ${request.kind}`);
    await serve(channel, request, life);
  };
  const serve = async (channel: Duplex): Promise<void> => {
    channel.on("error", (error: Error) => log.debug("a stream broke", { error: errorText(error) }));
    open += 1;
    unasked.enter(channel, "");
    if (open > maxStreams) dropUnasked();
    try {
      await serveRequest(channel);
      channel.end();
    } catch (thrown) {
      refuse(channel, toPlatformError(thrown), log);
    } finally {
      open -= 1;
      unasked.leave(channel);
      waiting.leave(channel);
    }
  };
  return {
    get open() {
      return open;
    },
    serve,
    stop: () => {
      stopping = true;
    },
  };
}

function refuse(channel: Duplex, error: PlatformError, log: Log): void {
  if (error.code === "internal") log.error("a stream failed", { error: error.cause ?? error });
  else log.info("stream refused", { code: error.code, error: error.message });
  if (channel.writable) channel.end(encodeStreamReply({ ok: false, error }));
  channel.resume();
}
