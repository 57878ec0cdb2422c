import { Agent, type ClientRequest, request as httpRequest } from "node:http";
import type { Duplex } from "node:stream";
import { keepAliveIn } from "../../../core/transport/keep-alive.ts";

/* HTTP/1.1 over connections that have reached an agent. */

/** Largest headers of a request or an answer, bytes. */
export const maxHeaders = 65_536;

export interface AgentOptions {
  /** Requests at a time; others wait, for as long as it takes. Left out: the caller limits them. */
  readonly maxConnections?: number;
  readonly maxIdle: number;
  /** Time after which an idle connection is closed, ms. */
  readonly idleMs: number;
  /** A new connection. `left`: that of the request for which it is opened. */
  readonly connect: (left: AbortSignal | undefined) => Promise<Duplex>;
}

/** Keeps connections open for later requests. */
export function connectionAgent({ maxConnections = Number.POSITIVE_INFINITY, maxIdle, idleMs, connect }: AgentOptions): Agent {
  const agent = keepAliveIn(new Agent({ keepAlive: true, maxSockets: maxConnections, maxFreeSockets: maxIdle, timeout: idleMs }));
  agent.createConnection = (options, done) => {
    connect(leftOf(options)).then(
      (socket) => done?.(null, socket),
      // Node's types require a socket beside the error.
      (thrown: unknown) => (done as ((error: unknown) => void) | undefined)?.(thrown),
    );
    return undefined;
  };
  return agent;
}

/** An option of `agentRequest`, which Node passes on with its own. */
function leftOf(options: object): AbortSignal | undefined {
  return "left" in options && options.left instanceof AbortSignal ? options.left : undefined;
}

export interface PassedRequest {
  readonly method: string | undefined;
  /** With its query. */
  readonly path: string | undefined;
  /** Flat: a name, its value, the next name. */
  readonly headers: readonly string[];
  /** The kept connections, or one for this request alone. */
  readonly over: Agent | Duplex;
  /** Aborted when the client has left: a connection that is being opened for it is no longer needed. */
  readonly left?: AbortSignal | undefined;
}

/** A request with exactly these headers, besides those of the connection. */
export function agentRequest({ method = "GET", path = "/", headers, over, left }: PassedRequest): ClientRequest {
  const way = over instanceof Agent ? { agent: over, left } : { createConnection: () => over };
  return httpRequest({ ...way, host: "app", method, path, headers, setHost: false, maxHeaderSize: maxHeaders });
}

/** The failure of a request that was answered with 101 without having asked for another protocol. */
export function changedProtocol(): Error {
  return new Error("the agent changed the protocol of a request");
}

/** Calls `failed` when a plain request is answered with a 101 that has the fields of an upgrade: without a listener, Node ends the connection and reports nothing. */
export function refuseUpgrade(request: ClientRequest, failed: (error: Error) => void): void {
  request.once("upgrade", (_answer, socket) => {
    socket.destroy();
    failed(changedProtocol());
  });
}
