import type { ClientHttp2Session } from "node:http2";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { setHighWaterMark } from "../../../core/node-internals/set-high-water-mark.ts";
import type { HeaderField } from "../../../core/resources/app-headers.ts";
import type { Env } from "../../../core/transport/dial/choose-proxy.ts";
import { dialTls } from "../../../core/transport/dial/dial.ts";
import type { HostPort } from "../../../core/transport/host-port.ts";
import type { UpstreamAnswer, UpstreamRequest } from "../../http/exchange.ts";
import { type HttpProtocols, type OpenedRoad, type UpgradeAnswer, UpstreamHttp1 } from "../../http/upstream-http1.ts";
import { openHttp2, sendHttp2, UnreadRequest } from "../../http/upstream-http2.ts";
import { watchPeer } from "../../service/watch-peer.ts";
import { type Login, LoginKeeper, type LoginSource } from "./login.ts";

/** Time limit of a connection and its TLS handshake, ms. */
const connectMs = 15_000;
/** Connections of HTTP/1.1 for requests, where the API server, or a gateway before it, speaks nothing newer. */
const most = { open: 512, kept: 32 } as const;
/** Connections of HTTP/2, and streams on each: API servers allow 250 (`--http2-max-streams-per-connection`). */
const maxSessions = 32;
const usualStreams = 250;
/**
 * Bytes that one stream, and that all of a connection, may send before this agent has passed them on: a slow client must not hold up the others. Connections of their own
 * carry the requests of users who have many, since each of those may wait for its client.
 */
const windows = {
  usual: { stream: 256 * 1024, connection: 64 * 1024 * 1024 },
  small: { stream: 16 * 1024, connection: 8 * 1024 * 1024 },
} as const;
/** Bytes that a stream of theirs holds on each side of the agent, and one piece more. */
export const smallMark = 8 * 1024;
type WindowSize = keyof typeof windows;
const other = { usual: "small", small: "usual" } as const;

export interface ApiServerFacts {
  /** Name of the cluster, for errors. */
  readonly name: string;
  readonly address: HostPort;
  /** Of the `Host` field. */
  readonly authority: string;
  /** Before each path; empty or with a slash at its beginning alone. */
  readonly basePath: string;
  readonly serverName: string;
  readonly isInsecure: boolean;
  readonly login: LoginSource;
}

/** A request to an API server: the host, the base path and the agent's own credentials are added. */
export interface ApiRequest extends Omit<UpstreamRequest, "host"> {
  /** It goes on to a program behind the API server, whose refusals say nothing of the agent's login. Default: no. */
  readonly isProxied?: boolean;
  /** Its user has many such requests already: the agent buffers less of its response, some 24 KiB instead of 320. Default: no. */
  readonly isOneOfMany?: boolean;
}

/** The connections that may carry a request. */
interface Way {
  readonly login: Login;
  readonly size: WindowSize;
}

interface PooledSession {
  readonly session: ClientHttp2Session;
  /** Of the connection's own certificate and authorities. */
  readonly login: string;
  readonly size: WindowSize;
  /** Requests that were given to it and have not ended. */
  streams: number;
}

/** The API server of one cluster. Its connections are shared by all users, and each request names its user. */
export class ApiServer {
  readonly #facts: ApiServerFacts;
  readonly #env: Env;
  readonly #signal: AbortSignal;
  readonly #keeper: LoginKeeper;
  readonly #http1: UpstreamHttp1;
  /** Connections of upgrades carry one request each. */
  readonly #upgrades: UpstreamHttp1;
  readonly #sessions = new Set<PooledSession>();
  readonly #opening = new Map<WindowSize, Promise<PooledSession | undefined>>();
  #prefersHttp1 = false;

  constructor(facts: ApiServerFacts, { env }: { readonly env: Env }, signal: AbortSignal) {
    this.#facts = facts;
    this.#env = env;
    this.#signal = signal;
    this.#keeper = new LoginKeeper(facts.login, { env, signal });
    const open = async (protocols: HttpProtocols): Promise<OpenedRoad> => await this.#open(protocols, await this.#keeper.current());
    this.#http1 = new UpstreamHttp1(open, { keeps: true, most });
    this.#upgrades = new UpstreamHttp1(open, { keeps: false, most: { open: Number.POSITIVE_INFINITY, kept: 0 } });
    signal.addEventListener("abort", () => this.close(), { once: true });
  }

  get facts(): ApiServerFacts {
    return this.#facts;
  }

  /** The API server, or a gateway before it, speaks HTTP/1.1 alone: a connection for each request, and few of them. */
  get prefersHttp1(): boolean {
    return this.#prefersHttp1;
  }

  /** Sends a request; nothing of it is sent twice. Throws PlatformError `unavailable`, `timeout` or `unauthenticated`, and Node's errors. */
  async send(asked: ApiRequest): Promise<UpstreamAnswer> {
    const login = await this.#keeper.current();
    const answer = await this.#send(this.#whole(asked, login), { login, size: asked.isOneOfMany === true ? "small" : "usual" });
    if (answer.status === 401 && asked.isProxied !== true) this.#keeper.refused();
    return answer;
  }

  /** As `send`, for a request for another protocol, over a connection of its own. */
  async upgrade(asked: ApiRequest, protocol: string): Promise<UpgradeAnswer> {
    return await this.#upgrades.upgrade(this.#whole(asked, await this.#keeper.current()), protocol);
  }

  /** Ends all connections. */
  close(): void {
    this.#http1.close();
    this.#upgrades.close();
    for (const { session } of this.#sessions) session.destroy();
    this.#sessions.clear();
  }

  async #send(asked: UpstreamRequest, way: Way): Promise<UpstreamAnswer> {
    for (let isSecond = false; ; isSecond = true) {
      const pooled = this.#prefersHttp1 ? undefined : await this.#session(way);
      if (pooled === undefined) return await this.#http1.send(asked);
      try {
        return await this.#over(pooled, asked);
      } catch (thrown) {
        if (isSecond || asked.signal.aborted || asked.body !== undefined || !(thrown instanceof UnreadRequest)) throw thrown;
      }
    }
  }

  async #over(pooled: PooledSession, asked: UpstreamRequest): Promise<UpstreamAnswer> {
    let isCounted = true;
    const done = (): void => {
      if (!isCounted) return;
      isCounted = false;
      pooled.streams -= 1;
    };
    try {
      const answer = await sendHttp2(pooled.session, asked, "https");
      answer.body.once("close", done);
      if (pooled.size === "small") setHighWaterMark(answer.body, smallMark);
      if (answer.body.destroyed) done();
      return answer;
    } catch (thrown) {
      done();
      throw thrown;
    }
  }

  /** The agent's credentials come last, whatever fields come before them. */
  #whole({ target, headers, ...asked }: ApiRequest, { token }: Login): UpstreamRequest {
    const own: readonly HeaderField[] = token === undefined ? [] : [["Authorization", `Bearer ${token}`]];
    return { ...asked, target: `${this.#facts.basePath}${target}`, host: this.#facts.authority, headers: [...headers, ...own] };
  }

  /** A connection on which a stream is counted already; undefined when the server speaks HTTP/1.1. */
  async #session(way: Way): Promise<PooledSession | undefined> {
    const { size } = way;
    const key = loginKey(way.login);
    for (;;) {
      const isFull = this.#sessions.size >= maxSessions;
      const free = this.#free(key, size) ?? (isFull && !this.#closeIdle(size) ? this.#free(key, other[size]) : undefined);
      if (free !== undefined) {
        free.streams += 1;
        return free;
      }
      if (this.#sessions.size >= maxSessions)
        throw new PlatformError(
          "limit",
          `the agent has ${maxSessions} full connections to the API server of ${this.#facts.name}, which is the maximum`,
        );
      const opening = this.#opening.get(size) ?? this.#openSession(way, key).finally(() => this.#opening.delete(size));
      this.#opening.set(size, opening);
      const opened = await opening;
      if (opened === undefined) return undefined;
    }
  }

  #free(key: string, size: WindowSize): PooledSession | undefined {
    for (const pooled of this.#sessions) if (pooled.login === key && pooled.size === size && hasRoom(pooled)) return pooled;
    return undefined;
  }

  /** Closes a connection of the other size that nothing uses, and returns whether there was one. */
  #closeIdle(size: WindowSize): boolean {
    for (const pooled of this.#sessions) {
      if (pooled.size === size || pooled.streams > 0 || !hasRoom(pooled)) continue;
      this.#sessions.delete(pooled);
      pooled.session.destroy();
      return true;
    }
    return false;
  }

  async #openSession({ login, size }: Way, key: string): Promise<PooledSession | undefined> {
    const road = await this.#open(["h2", "http/1.1"], login);
    if (road.selected !== "h2") {
      this.#prefersHttp1 = true;
      this.#http1.offer(road.socket);
      return undefined;
    }
    const session = await openHttp2(road, { scheme: "https", peer: `the API server of ${this.#facts.name}`, windows: windows[size] });
    const pooled: PooledSession = { session, login: key, size, streams: 0 };
    this.#sessions.add(pooled);
    session.once("close", () => this.#sessions.delete(pooled));
    session.once("goaway", () => this.#sessions.delete(pooled));
    // Sessions of the login before: what runs on them ends by itself.
    for (const older of this.#sessions) if (older.login !== key) older.session.close();
    return pooled;
  }

  async #open(alpn: HttpProtocols, login: Login): Promise<OpenedRoad> {
    const { address, serverName: servername, isInsecure: insecure } = this.#facts;
    const { ca, certificate, privateKey } = login;
    const tls = { alpn, servername, insecure, ...(ca && { ca }), certificate, privateKey };
    const socket = await dialTls(address, tls, { env: this.#env, timeoutMs: connectMs, signal: this.#signal });
    watchPeer(socket, `the API server of ${this.#facts.name}`);
    const selected = socket.alpnProtocol === "h2" || socket.alpnProtocol === "http/1.1" ? socket.alpnProtocol : undefined;
    return { socket, selected };
  }
}

function hasRoom({ session, streams }: PooledSession): boolean {
  const room = Math.min(session.remoteSettings.maxConcurrentStreams ?? usualStreams, usualStreams);
  return !session.closed && !session.destroyed && streams < room;
}

/** Identifies what a connection was opened with; tokens are sent with each request. */
function loginKey({ certificate = "", ca = [] }: Login): string {
  return JSON.stringify([certificate, ca]);
}
