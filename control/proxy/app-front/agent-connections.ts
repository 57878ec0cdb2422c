import type { Agent } from "node:http";
import type { TLSSocket } from "node:tls";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { createQueues } from "../../../core/limits/queue.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { type ReachServices, reachServed } from "../routing/reach-served.ts";
import { connectionAgent } from "./agent-requests.ts";
import type { AppCredential, AppSessions } from "./app-sessions.ts";

/** A request's user, application and client. */
export interface AppVisit {
  readonly credential: AppCredential;
  readonly user: UserIdentity;
  readonly app: string;
  /** `ip:port` of the client. */
  readonly peer: string;
}

export interface ConnectionServices extends ReachServices {
  readonly auth: Pick<AuthClient, "signBrowserApp">;
  readonly sessions: Pick<AppSessions, "hold">;
}

/** Connections of one session from one address: a browser has six, and pages with many slow requests wait. */
const maxConnections = 32;
const maxIdle = 32;
/** Time after which an idle connection is closed, ms: before the agent closes it. */
const idleMs = 30_000;
/** Sessions with connections at a time. */
const maxPools = 10_000;
/**
 * New connections of one session at a time, and those that wait. Each takes a stream, a certificate and two handshakes, some 20 ms of processor time in all, and the agent
 * waits 10 s for its handshake: of hundreds that begin together on a busy machine none would be ready in time.
 */
const opening = { atOnce: 8, waiting: 1_000, what: "connections of one session to an application" } as const;

interface Pool {
  readonly agent: Agent;
  readonly release: () => void;
}

interface Attempt {
  readonly left: AbortSignal | undefined;
  /** An agent has opened a stream. */
  isOpen: boolean;
}

/**
 * Connections to agents for the sessions of browsers. They are kept by session and address, so that nobody's request goes over another one's connection, and end with
 * the session.
 */
export class AgentConnections {
  readonly #services: ConnectionServices;
  readonly #pools = new Map<string, Pool>();
  /** By session. */
  readonly #openings = createQueues(opening);

  constructor(services: ConnectionServices) {
    this.#services = services;
    const timer = setInterval(() => this.#dropUnused(), idleMs).unref();
    services.signal.addEventListener("abort", () => this.#close(timer), { once: true });
  }

  /** The connections for a visit, for `http.request`. Throws `limit`. */
  agentFor(visit: AppVisit): Agent {
    const { id } = visit.credential;
    const key = `${id} ${ipOf(visit.peer)}`;
    const known = this.#pools.get(key);
    if (known !== undefined) return known.agent;
    if (this.#pools.size >= maxPools) this.#dropUnused();
    if (this.#pools.size >= maxPools)
      throw new PlatformError("limit", "too many sessions of applications at this proxy", { hint: "try again in a moment" });
    const agent = connectionAgent({ maxConnections, maxIdle, idleMs, connect: () => this.connect(visit) });
    const release = this.#services.sessions.hold(id, () => this.#drop(key));
    this.#pools.set(key, { agent, release });
    return agent;
  }

  /**
   * A new connection: one that no other request uses. Nothing of a request was sent if it fails; a connection that an agent did not take is tried with another
   * one once. It may wait for its turn; `left`: aborted when the client has left. Throws PlatformError, `limit` when too many wait.
   */
  async connect(visit: AppVisit, left?: AbortSignal): Promise<TLSSocket> {
    return await this.#openings(visit.credential.id, async () => {
      if (left?.aborted) throw new PlatformError("unavailable", "the client has left");
      return await this.#reachTwice(visit, left);
    });
  }

  async #reachTwice(visit: AppVisit, left: AbortSignal | undefined): Promise<TLSSocket> {
    const first: Attempt = { left, isOpen: false };
    try {
      return await this.#reach(visit, first);
    } catch (thrown) {
      const isAway = thrown instanceof PlatformError && (thrown.code === "unavailable" || thrown.code === "timeout");
      // Without a stream, all agents were tried.
      if (!isAway || !first.isOpen || left?.aborted) throw thrown;
      return await this.#reach(visit, { left, isOpen: false });
    }
  }

  async #reach({ credential, user, app, peer }: AppVisit, attempt: Attempt): Promise<TLSSocket> {
    const { auth } = this.#services;
    const socket = await reachServed<"app">(
      {
        clientAddress: peer,
        sessionId: credential.id,
        identify: async () => user,
        request: () => ({ kind: "app", target: app, parameters: {} }),
        left: attempt.left,
        sign: async (ask) => {
          attempt.isOpen = true;
          return (await auth.signBrowserApp({ ...ask, credential, app, clientAddress: peer })).tlsCertificate;
        },
      },
      this.#services,
    );
    socket.on("error", () => {});
    return socket;
  }

  #dropUnused(): void {
    for (const [key, { agent }] of this.#pools) {
      const inUse = [agent.sockets, agent.freeSockets, agent.requests].some((all) => Object.keys(all).length > 0);
      if (!inUse) this.#drop(key);
    }
  }

  #drop(key: string): void {
    const pool = this.#pools.get(key);
    this.#pools.delete(key);
    pool?.release();
    pool?.agent.destroy();
  }

  #close(timer: NodeJS.Timeout): void {
    clearInterval(timer);
    for (const key of [...this.#pools.keys()]) this.#drop(key);
  }
}
