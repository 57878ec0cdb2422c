import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import { PlatformError } from "../errors/platform-error.ts";

/* Health check of HTTP/2 clients, for peers that vanish without a FIN: the kernel itself gives up after a quarter of an hour. */

export interface SilenceLimits {
  /** Silence after which a connection with open streams is checked, ms. */
  readonly idleMs: number;
  /** Time for the answer, ms. */
  readonly answerMs: number;
}

/** Those of Kubernetes' own clients. */
export const silenceLimits: SilenceLimits = { idleMs: 30_000, answerMs: 15_000 };

export interface WatchedConnection {
  readonly session: ClientHttp2Session;
  /** Below the session, which when destroyed waits for its last write: a lost peer never takes that. */
  readonly socket: Duplex;
  /** Name of the peer, for the error. */
  readonly peer: string;
}

const watches = new WeakMap<object, SilenceWatch>();

/**
 * Ends a connection whose peer is gone: its streams fail with PlatformError `timeout`. Streams count from `watchStream` on;
 * while none is open or unanswered, nothing is sent and no timer runs. The first call for a session counts.
 */
export function watchHttp2(connection: WatchedConnection, limits: SilenceLimits = silenceLimits): void {
  if (!watches.has(connection.session)) watches.set(connection.session, new SilenceWatch(connection, limits));
}

/** Counts a stream of a watched session until it closes. */
export function watchStream(stream: ClientHttp2Stream): void {
  if (stream.session !== undefined) watches.get(stream.session)?.enter(stream);
}

/** Compares the bytes received a few times within the limits, not at each frame. It counts these looks, not time: a process that was stopped for long ends nothing. */
class SilenceWatch {
  readonly #connection: WatchedConnection;
  readonly #limits: SilenceLimits;
  readonly #everyMs: number;
  #streams = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Bytes received by the last look, and the time since they have been as many. */
  #received = 0;
  #silentMs = 0;
  #hasAsked = false;
  /** Whether nothing has come since a stream was opened: one that was given up meanwhile does not make the peer better. */
  #isAwaited = false;

  constructor(connection: WatchedConnection, limits: SilenceLimits) {
    this.#connection = connection;
    this.#limits = limits;
    this.#everyMs = Math.min(limits.idleMs, limits.answerMs) / 3;
  }

  enter(stream: ClientHttp2Stream): void {
    this.#streams += 1;
    stream.once("close", () => {
      this.#streams -= 1;
    });
    if (this.#timer === undefined) {
      this.#hear(this.#bytesRead());
      this.#timer = setInterval(() => this.#look(), this.#everyMs).unref();
    }
    this.#isAwaited = true;
  }

  #look(): void {
    const { session, socket, peer } = this.#connection;
    const { idleMs, answerMs } = this.#limits;
    const received = this.#bytesRead();
    if (session.destroyed) return void this.#stop();
    if (received !== this.#received) return void this.#hear(received);
    if (this.#streams === 0 && !this.#isAwaited) return void this.#stop();
    this.#silentMs += this.#everyMs;
    if (this.#silentMs >= idleMs + answerMs) {
      this.#stop();
      session.on("error", () => {});
      session.destroy(new PlatformError("timeout", `${peer} does not answer: nothing has come from it for ${(idleMs + answerMs) / 1000} s`));
      socket.destroy();
    } else if (this.#silentMs >= idleMs && !this.#hasAsked) {
      this.#hasAsked = true;
      // Node sends no PING once a session takes no more streams (GOAWAY); SETTINGS are acknowledged all the same.
      if (session.closed) session.settings({});
      else session.ping(() => {});
    }
  }

  #hear(received: number): void {
    this.#received = received;
    this.#silentMs = 0;
    this.#hasAsked = false;
    this.#isAwaited = false;
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #bytesRead(): number {
    const { session } = this.#connection;
    return session.destroyed ? 0 : (session.socket?.bytesRead ?? 0);
  }
}
