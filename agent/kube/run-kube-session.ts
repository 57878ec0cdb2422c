import type { TLSSocket } from "node:tls";
import type { ServedGrant } from "../../core/access/authorize.ts";
import { PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import { encodeStreamReply } from "../../core/transport/stream-request.ts";
import type { Access } from "../access/access-source.ts";
import type { HttpHandlers } from "../http/http-handlers.ts";
import { type ConnectionLimits, usualLimits } from "../http/http-handlers.ts";
import { serveHttp } from "../http/serve-http.ts";
import type { ConnectionLease } from "../service/connection-limits.ts";
import { holdToRules } from "../service/hold-to-rules.ts";
import { noteUnread } from "./http/request-note.ts";
import { logRefusal, serveRequest } from "./http/serve-request.ts";
import { serveUpgrade } from "./http/serve-upgrade.ts";
import { plainStatus } from "./http/status-response.ts";
import type { KubeDeps } from "./kube-deps.ts";
import { type KubeSession, Running } from "./kube-session.ts";

/** A client may open as many streams on one HTTP/2 connection as API servers allow. */
const limits: ConnectionLimits = { ...usualLimits, maxExchanges: 250 };
/** Time that streams have to state to the client why its connection ends, ms. */
const farewellMs = 1_500;

export interface KubeConnection {
  readonly tls: TLSSocket;
  readonly grant: ServedGrant<"kube">;
  readonly lease: ConnectionLease | undefined;
  /** The agent's decision about the connection under other rules. Throws `denied`. */
  readonly judgeAgain: (access: Access) => void;
  readonly session: Omit<KubeSession, "running" | "touch" | "deps">;
}

/** Serves a user's requests to a Kubernetes cluster until the connection ends, or a rule, a lock or another role ends it. Never throws. */
export async function runKubeSession({ tls, grant, lease, judgeAgain, session }: KubeConnection, deps: KubeDeps, signal: AbortSignal): Promise<void> {
  const running = new Running();
  const over = new AbortController();
  let reason: PlatformError | undefined;
  let timer: NodeJS.Timeout | undefined;
  const cut = (why: PlatformError): void => {
    if (reason !== undefined) return;
    reason = why;
    // Running requests report the reason to the client, each in its own form.
    running.endAll(why);
    timer = setTimeout(() => tls.destroy(), farewellMs);
  };
  const stop = (): void => void tls.destroy();
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  let touch: () => void = () => {};
  const onActivity = (touched: () => void): void => {
    touch = touched;
  };
  const release = holdToRules({ grant, access: deps.access, now: deps.now ?? (() => new Date()), onActivity, end: cut });
  deps.access.follow((access) => {
    const denied = deniedBy(() => judgeAgain(access));
    if (denied === undefined) running.judgeAgain((thrown) => toPlatformError(thrown));
    else cut(denied);
  }, over.signal);
  lease?.onLost(cut);
  tls.write(encodeStreamReply({ ok: true }));
  await serveHttp(tls, kubeHandlers({ ...session, running, touch: () => touch(), deps }), limits);
  release();
  over.abort();
  clearTimeout(timer);
  signal.removeEventListener("abort", stop);
  // HTTP/2 may end its streams later than its connection. Nothing else may outlive it: rules and locks no longer reach it.
  setTimeout(() => running.endAll(new PlatformError("unavailable", "the client's connection has ended")), farewellMs).unref();
  deps.log.info("connection to a Kubernetes cluster ended", {
    session: session.sid,
    user: grant.identity.name,
    cluster: session.cluster.name,
    ...(reason && { reason: reason.message }),
  });
}

/** The refusal of a decision; undefined when it does not refuse, or could not be made. */
function deniedBy(decide: () => void): PlatformError | undefined {
  try {
    decide();
    return undefined;
  } catch (thrown) {
    const error = toPlatformError(thrown);
    return error.code === "denied" ? error : undefined;
  }
}

/** How a connection of a user to a Kubernetes cluster is served. */
function kubeHandlers(session: KubeSession): HttpHandlers {
  return {
    exchange: async (asked, answer) => await serveRequest(asked, answer, session),
    upgrade: async (request, socket) => await serveUpgrade(request, socket, session),
    refusal: plainStatus,
    unread: (status, why) => {
      const error = new PlatformError("invalid", why);
      noteUnread(status, error, session);
      logRefusal(error, session);
    },
  };
}
