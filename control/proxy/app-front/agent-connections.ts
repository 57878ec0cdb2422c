import { hash } from "node:crypto";
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
import { LimitedWait } from "./limited-wait.ts";

/** A request's session, application and client. */
export interface AppVisit {
  readonly credential: AppCredential;
  readonly app: string;
  /** `ip:port` of the client. */
  readonly peer: string;
}

export interface ConnectionServices extends ReachServices {
  readonly auth: Pick<AuthClient, "signBrowserApp">;
  readonly sessions: Pick<AppSessions, "hold" | "userOf">;
}

/** Concurrent requests of one session from one address, and those that may wait. A browser has six connections; pages with many slow requests wait. */
const requests = { atOnce: 32, waiting: 1_000, what: "requests of one session to an application" } as const;
/** Time that a request waits for one of the others to end, ms. */
const turnMs = 60_000;
/** Time that a request waits for a new connection, its turn among `opening` included, ms. */
const connectionMs = 60_000;
const maxIdle = 32;
/** Time after which an idle connection is closed, ms: before the agent closes it. */
const idleMs = 30_000;
/** Maximum sets of connections: usually there is one for each session. */
const maxPools = 10_000;
/**
 * Connections of one session that are opened at the same time, and those that may wait. Each takes a stream, a certificate and two handshakes, about 20 ms of
 * processor time in all, and the agent allows 10 s for its handshake: of hundreds that begin together on a busy machine, none would be ready in time.
 */
const opening = { atOnce: 8, waiting: 1_000, what: "connections of one session to an application" } as const;

interface Pool {
  readonly agent: Agent;
  readonly release: () => void;
}

interface Attempt {
  readonly left: AbortSignal;
  /** An agent has opened a stream. */
  isOpen: boolean;
}

/**
 * Connections to agents for the sessions of browsers. They are kept by session, address and the user's identity, so that no request goes over another user's
 * connection, or over one with earlier roles. They end with the session.
 */
export class AgentConnections {
  readonly #services: ConnectionServices;
  readonly #pools = new Map<string, Pool>();
  /** By identity: identities do not change, and `userOf` returns the same one for a while. */
  readonly #digests = new WeakMap<UserIdentity, string>();
  /** By visit, which many requests may share. */
  readonly #keys = new WeakMap<AppVisit, string>();
  /** By session and address. */
  readonly #requests = createQueues(requests);
  /** By session. */
  readonly #openings = createQueues(opening);

  constructor(services: ConnectionServices) {
    this.#services = services;
    const timer = setInterval(() => this.#dropUnused(), idleMs).unref();
    services.signal.addEventListener("abort", () => this.#close(timer), { once: true });
  }

  /**
   * Calls `pass` with the visit's connections, for `http.request`, once fewer than 32 requests of its session and address are running. The visit holds its place
   * until `pass` resolves. `left`: aborted when the client has left. Throws as `userOf`, and PlatformError: `limit` when too many wait, `timeout` when it has
   * waited for a minute.
   */
  async inTurn(visit: AppVisit, left: AbortSignal, pass: (agent: Agent) => Promise<void>): Promise<void> {
    if (left.aborted) throw new PlatformError("unavailable", "the client has left");
    const hint = "close pages of the application that you do not need, or try again when a download or an upload has ended";
    const late = (): PlatformError => {
      const running = `${requests.atOnce} requests of this browser to ${visit.app} are still running`;
      return new PlatformError("timeout", `${running}; this one has waited ${turnMs / 1_000} s for one to end`, { hint });
    };
    using wait = new LimitedWait({ ms: turnMs, late, left });
    const work = async (): Promise<void> => {
      wait[Symbol.dispose]();
      await pass(this.#agentFor(visit, await this.#services.sessions.userOf(visit)));
    };
    // Usually there is room, and nothing waits.
    await this.#requests(this.#keyOf(visit), work, () => wait.signal);
  }

  /** Session and address. */
  #keyOf(visit: AppVisit): string {
    const key = this.#keys.get(visit) ?? `${visit.credential.id} ${ipOf(visit.peer)}`;
    this.#keys.set(visit, key);
    return key;
  }

  #digestOf(user: UserIdentity): string {
    const digest = this.#digests.get(user) ?? hash("sha256", JSON.stringify(user), "base64");
    this.#digests.set(user, digest);
    return digest;
  }

  #agentFor(visit: AppVisit, user: UserIdentity): Agent {
    const key = `${this.#keyOf(visit)} ${this.#digestOf(user)}`;
    const known = this.#pools.get(key);
    if (known !== undefined) return known.agent;
    if (this.#pools.size >= maxPools) this.#dropUnused();
    if (this.#pools.size >= maxPools)
      throw new PlatformError("limit", "too many sessions of applications at this proxy", { hint: "try again in a moment" });
    const agent = connectionAgent({ maxIdle, idleMs, connect: (left) => this.connect(visit, left) });
    const release = this.#services.sessions.hold(visit.credential.id, () => this.#drop(key));
    this.#pools.set(key, { agent, release });
    return agent;
  }

  /**
   * A new connection, which no other request uses. If it fails, nothing of the request has been sent; if an agent does not accept it, another one is tried once.
   * It may wait for its turn; `left`: aborted when the client has left. Throws PlatformError: `limit` when too many wait, `timeout` after a minute.
   */
  async connect(visit: AppVisit, left?: AbortSignal): Promise<TLSSocket> {
    const text = `a connection to ${visit.app} could not be opened within ${connectionMs / 1_000} s`;
    const late = (): PlatformError => new PlatformError("timeout", text, { hint: "its agent may be overloaded; try again in a moment" });
    using wait = new LimitedWait({ ms: connectionMs, late, left });
    try {
      return await this.#openings(visit.credential.id, () => this.#reachTwice(visit, wait.signal), wait.signal);
    } catch (thrown) {
      throw wait.signal.aborted ? wait.signal.reason : thrown;
    }
  }

  async #reachTwice(visit: AppVisit, left: AbortSignal): Promise<TLSSocket> {
    const first: Attempt = { left, isOpen: false };
    try {
      return await this.#reach(visit, first);
    } catch (thrown) {
      const isAway = thrown instanceof PlatformError && (thrown.code === "unavailable" || thrown.code === "timeout");
      // No agent opened a stream: all of them have been tried.
      if (!isAway || !first.isOpen || left.aborted) throw thrown;
      return await this.#reach(visit, { left, isOpen: false });
    }
  }

  async #reach(visit: AppVisit, attempt: Attempt): Promise<TLSSocket> {
    const { credential, app, peer } = visit;
    const { auth, sessions } = this.#services;
    const socket = await reachServed<"app">(
      {
        clientAddress: peer,
        sessionId: credential.id,
        // The current roles decide: the request may have waited.
        identify: async () => await sessions.userOf(visit),
        request: () => ({ kind: "app", target: app, parameters: {} }),
        left: attempt.left,
        sign: async (ask) => {
          attempt.isOpen = true;
          return (await auth.signBrowserApp({ ...ask, credential, app, clientAddress: peer }, { signal: attempt.left })).tlsCertificate;
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
