import type { Socket } from "node:net";
import type { RequestLimit } from "../../limits/request-limit.ts";
import { readPlainRequest } from "./plain-request.ts";
import type { QuickAnswers } from "./quick-answers.ts";

/** Of one connection; times in ms. */
export interface ConnectionLimits {
  readonly requests: number;
  /** Until the first request is there. */
  readonly headersMs: number;
  /** Between two requests. */
  readonly keepAliveMs: number;
}

export interface QuickConnectionsOptions {
  readonly answers: QuickAnswers;
  readonly limit: RequestLimit;
  readonly limits: ConnectionLimits;
  /** Takes a connection whose next request is not answered here; the request is unread. */
  readonly handOver: (socket: Socket) => void;
}

interface Connection {
  /** Requests so far. */
  answered: number;
  readonly listeners: Readonly<Record<"data" | "end" | "timeout" | "close", (chunk: Buffer) => void>>;
}

/** As long as Node's own server waits beyond what it has promised, ms. */
const graceMs = 1000;
/** What Node's own server says. */
const tooLate = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";

/**
 * Connections that have asked nothing yet but what has a quick answer: plain requests, which need neither Node's parser nor its
 * objects, about half of what an answer costs. The first request that is another makes the HTTP server take over, for good.
 */
export class QuickConnections {
  readonly #options: QuickConnectionsOptions;
  readonly #connections = new Map<Socket, Connection>();
  /** Requests so far on connections that were handed over. */
  readonly #handedOver = new WeakMap<Socket, number>();

  constructor(options: QuickConnectionsOptions) {
    this.#options = options;
  }

  accept(socket: Socket): void {
    const listeners: Connection["listeners"] = {
      data: (chunk) => this.#read(socket, chunk),
      end: () => socket.end(),
      timeout: () => this.#late(socket),
      close: () => this.#connections.delete(socket),
    };
    this.#connections.set(socket, { answered: 0, listeners });
    socket.setTimeout(this.#options.limits.headersMs);
    for (const [event, listener] of Object.entries(listeners)) socket.on(event, listener);
  }

  /** Counts a request that the HTTP server has got. True: it is the last of a connection that began here. */
  isLast(socket: Socket): boolean {
    const before = this.#handedOver.get(socket);
    if (before === undefined) return false;
    this.#handedOver.set(socket, before + 1);
    return before + 1 >= this.#options.limits.requests;
  }

  /** Ends those that had an answer and wait for nothing. */
  closeIdle(): void {
    for (const [socket, { answered }] of this.#connections) if (answered > 0 && socket.writableLength === 0) socket.destroy();
  }

  closeAll(): void {
    for (const socket of this.#connections.keys()) socket.destroy();
  }

  #read(socket: Socket, chunk: Buffer): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    const { answers, limit, limits } = this.#options;
    if (connection.answered === 0) socket.setTimeout(limits.keepAliveMs + graceMs);
    const text = chunk.toString("latin1");
    let out = "";
    let at = 0;
    while (at < text.length && connection.answered < limits.requests) {
      const request = readPlainRequest(text, at);
      const answer = request && answers(request.path);
      if (request === undefined || answer === undefined || !limit.take(socket)) break;
      connection.answered += 1;
      out += connection.answered < limits.requests ? answer.keeping : answer.closing;
      at = request.end;
    }
    const flushed = out === "" || socket.write(out, "latin1");
    if (connection.answered >= limits.requests) this.#finish(socket, connection);
    else if (at < text.length) this.#leave(socket, connection, chunk.subarray(at));
    else if (!flushed) pauseUntilDrained(socket);
  }

  /** The last answer goes out; what is still sent is not read. */
  #finish(socket: Socket, { listeners }: Connection): void {
    socket.off("data", listeners.data);
    socket.destroySoon();
  }

  #leave(socket: Socket, { answered, listeners }: Connection, rest: Buffer): void {
    this.#connections.delete(socket);
    if (answered > 0) this.#handedOver.set(socket, answered);
    for (const [event, listener] of Object.entries(listeners)) socket.off(event, listener);
    socket.pause();
    socket.unshift(rest);
    this.#options.handOver(socket);
    socket.resume();
  }

  #late(socket: Socket): void {
    if (this.#connections.get(socket)?.answered === 0) socket.write(tooLate);
    socket.destroy();
  }
}

function pauseUntilDrained(socket: Socket): void {
  socket.pause();
  socket.once("drain", () => socket.resume());
}
