import { Agent, type IncomingMessage, request, type ClientRequest as SentRequest } from "node:http";
import type { Duplex } from "node:stream";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { gatherPieces } from "../../core/node-internals/gather-pieces.ts";
import type { HeaderField } from "../../core/resources/app-headers.ts";
import { ignoreError } from "../../core/transport/dial/attempt.ts";
import { keepAliveIn } from "../../core/transport/keep-alive.ts";
import { pour } from "../../core/transport/pour.ts";
import { fieldOf, fieldPairs, type UpstreamAnswer, type UpstreamRequest } from "./exchange.ts";
import { limitInterim } from "./interim.ts";
import { passedTrailers } from "./passed-fields.ts";

/** Maximum size of a response's fields, bytes. */
const maxHead = 64 * 1024;
/** Protocols of HTTP inside TLS, the preferred one first. */
export type HttpProtocols = readonly ("h2" | "http/1.1")[];

export interface OpenedRoad {
  readonly socket: Duplex;
  /** Selected inside TLS; undefined where there is no TLS, or the server selects nothing. */
  readonly selected: "h2" | "http/1.1" | undefined;
}

/** Opens a connection that speaks one of these. Throws PlatformError. */
export type OpenRoad = (protocols: HttpProtocols) => Promise<OpenedRoad>;

export interface KeptConnections {
  /** Whether connections are kept between requests. */
  readonly keeps: boolean;
  /** Maximum connections that are open for requests, and of these the ones kept between requests. */
  readonly most: { readonly open: number; readonly kept: number };
}

/** The server's answer to a request for another protocol: the connection, once it has agreed. */
export type UpgradeAnswer =
  | { readonly upgraded: Duplex; readonly head: { readonly status: number; readonly headers: readonly HeaderField[] } }
  | UpstreamAnswer;

/** Requests to a server over HTTP/1.1. */
export class UpstreamHttp1 {
  readonly #agent: Agent;
  /** Connected and not used yet. */
  #spare: Duplex | undefined;

  constructor(open: OpenRoad, { keeps, most }: KeptConnections) {
    this.#agent = keepAliveIn(new Agent({ keepAlive: keeps, maxSockets: most.open, maxFreeSockets: most.kept }));
    this.#agent.createConnection = (_options, connected) => {
      this.#connect(open).then(
        (socket) => connected?.(null, socket),
        // With an error, Node looks at no socket.
        (thrown: unknown) => (connected as ((error: unknown) => void) | undefined)?.(thrown),
      );
      return undefined;
    };
  }

  /** Leaves a connection for the next request. */
  offer(socket: Duplex): void {
    this.#spare?.destroy();
    this.#spare = socket;
  }

  async #connect(open: OpenRoad): Promise<Duplex> {
    const spare = this.#spare;
    this.#spare = undefined;
    const socket = spare === undefined || spare.destroyed ? (await open(["http/1.1"])).socket : spare;
    // Node's client adds its own for as long as it uses the connection.
    return socket.on("error", ignoreError);
  }

  /** Sends a request; nothing of it is sent twice. Throws what opening a connection throws, `unavailable` for what is not a response, and Node's errors. */
  async send(asked: UpstreamRequest): Promise<UpstreamAnswer> {
    try {
      return await this.#exchange(asked);
    } catch (thrown) {
      if (!(thrown instanceof StaleConnection) || asked.signal.aborted) throw thrown;
      return await this.#exchange(asked);
    }
  }

  /** Sends a request for another protocol. Throws the same. */
  async upgrade(asked: UpstreamRequest, protocol: string): Promise<UpgradeAnswer> {
    const sent = this.#start(asked, [
      ["Connection", "Upgrade"],
      ["Upgrade", protocol],
    ]);
    return await new Promise((resolve, reject) => {
      sent.on("error", reject);
      settle(sent, asked, { resolve, reject });
      sent.once("upgrade", (response: IncomingMessage, socket: Duplex, first: Buffer) => {
        if (first.length > 0) socket.unshift(first);
        resolve({ upgraded: socket.on("error", ignoreError), head: { status: 101, headers: fieldPairs(response.rawHeaders) } });
      });
      sent.end();
    });
  }

  close(): void {
    this.#spare?.destroy();
    this.#agent.destroy();
  }

  async #exchange(asked: UpstreamRequest): Promise<UpstreamAnswer> {
    const sent = this.#start(asked, []);
    const answer = new Promise<UpstreamAnswer>((resolve, reject) => {
      // Stays: after the response, an error ends its body, which is where it counts.
      sent.on("error", (error) =>
        reject(isStale(sent, asked) ? new StaleConnection("the server has closed the connection", { cause: error }) : error),
      );
      // Without a listener, Node ends the connection and reports nothing.
      sent.once("upgrade", (_response: IncomingMessage, socket: Duplex) => {
        socket.destroy();
        reject(changedProtocol());
      });
      settle(sent, asked, { resolve, reject });
    });
    sent.on("continue", () => asked.onInform(100, []));
    sent.on("information", ({ statusCode, rawHeaders }) => {
      if (statusCode !== 100) asked.onInform(statusCode, fieldPairs(rawHeaders));
    });
    sendBody(sent, asked);
    return await answer;
  }

  #start({ method, target, host, headers, body }: UpstreamRequest, more: readonly HeaderField[]): SentRequest {
    const fields: readonly HeaderField[] = [["Host", host], ...headers, ...framing(method, headers, body !== undefined), ...more];
    const raw = fields.flat();
    return request({ agent: this.#agent, method, path: target, headers: raw, maxHeaderSize: maxHead, insecureHTTPParser: false });
  }
}

interface Settling {
  readonly resolve: (answer: UpstreamAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** Resolves with the response; rejects wherever Node reports no error, or reports it late: it destroys a request that waits for a connection in silence. */
function settle(sent: SentRequest, { method, signal }: UpstreamRequest, { resolve, reject }: Settling): void {
  let isAnswered = false;
  const fail = (error: Error): void => {
    reject(error);
    sent.destroy(error);
  };
  sent.once("response", (response: IncomingMessage) => {
    isAnswered = true;
    // A 101 without the fields of an upgrade is a response for Node.
    if (response.statusCode === 101) fail(changedProtocol());
    else resolve(answerOf(response, method));
  });
  sent.on("information", limitInterim(fail));
  // As the option `signal` of `request`, for less: that one watches the ends of a stream, too.
  const end = (): void => fail(new Error("the request was given up"));
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  sent.once("close", () => {
    signal.removeEventListener("abort", end);
    // An error costs its stack.
    if (!isAnswered) reject(new Error("the connection ended without a response"));
  });
}

function changedProtocol(): PlatformError {
  return new PlatformError("unavailable", "the server changed the protocol without being asked to (101)");
}

/** A kept connection ended before it took anything of a request that has no body: the request can go over another one. */
class StaleConnection extends Error {}

function isStale(sent: SentRequest, { method, body }: UpstreamRequest): boolean {
  return sent.reusedSocket && body === undefined && ["GET", "HEAD", "OPTIONS"].includes(method);
}

/** The length of the body for the server is the one that this agent has read, not one that `Connection` or a second field states. */
function framing(method: string, headers: readonly HeaderField[], hasBody: boolean): readonly HeaderField[] {
  if (fieldOf(headers, "content-length") !== undefined) return [];
  if (hasBody) return [["Transfer-Encoding", "chunked"]];
  return ["POST", "PUT", "PATCH"].includes(method) ? [["Content-Length", "0"]] : [];
}

function sendBody(sent: SentRequest, { body, trailers, headers, onData }: UpstreamRequest): void {
  if (body === undefined) return void sent.end();
  const isChunked = fieldOf(headers, "content-length") === undefined;
  // A client that waits for a word of the server sends nothing before.
  sent.write("", "latin1");
  const stopPouring = pour(body.on("data", onData), sent);
  body.resume();
  body.once("end", () => {
    const last = isChunked ? passedTrailers(trailers()) : [];
    if (last.length > 0) sent.addTrailers(last.map(([name, value]) => [name, value] as [string, string]));
    sent.end();
  });
  sent.once("close", () => {
    // A server may answer without having read it all.
    stopPouring();
    body.resume();
  });
}

function answerOf(response: IncomingMessage, method: string): UpstreamAnswer {
  const { statusCode: status = 0, statusMessage: message = "", rawHeaders, headers } = response;
  const isBodiless = method === "HEAD" || status === 204 || status === 304 || headers["content-length"] === "0";
  return {
    status,
    message,
    headers: fieldPairs(rawHeaders),
    body: gatherPieces(response),
    hasBody: !isBodiless,
    trailers: () => fieldPairs(response.rawTrailers),
    isBroken: () => !response.complete,
  };
}
