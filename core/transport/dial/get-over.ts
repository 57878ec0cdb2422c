import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Client } from "undici";
import { PlatformError } from "../../errors/platform-error.ts";
import { ignoreError } from "./attempt.ts";

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case; repeated fields joined by `, `. */
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

interface GetRequest {
  /** The Host header; in messages the server's name. */
  readonly host: string;
  readonly path: string;
  /** Maximum body. */
  readonly maxBytes: number;
  /** The only time limit. */
  readonly signal: AbortSignal;
}

/**
 * One GET over a connected socket, which is destroyed; redirects are not followed, and nothing is requested twice. undici (decision 5) is
 * loaded with the first request. Throws `limit` for a body that is too long, the signal's reason, and undici's or the socket's errors.
 */
export async function getOver(socket: Socket, request: GetRequest): Promise<HttpAnswer> {
  let client: Client | undefined;
  try {
    const undici = await import("undici");
    // The origin is not used: the socket is connected, and inside TLS if it has to be.
    client = new undici.Client("http://connected.invalid", { connect: handOut(socket), headersTimeout: 0, bodyTimeout: 0 });
    return await get(client, request);
  } finally {
    socket.destroy();
    await client?.destroy();
  }
}

async function get(client: Client, { host, path, maxBytes, signal }: GetRequest): Promise<HttpAnswer> {
  const headers = { host, accept: "*/*", "user-agent": "platform" };
  const answer = await client.request({ method: "GET", path, headers, reset: true, signal });
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw new PlatformError("limit", `the answer of ${host} to GET ${path} is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return { status: answer.statusCode, headers: flat(answer.headers), body: Buffer.concat(chunks) };
}

type Connected = (...result: [error: null, socket: Socket] | [error: Error, socket: null]) => void;

/** undici's connector. It asks for another connection when the first one ends before the request was sent; it gets the reason instead. */
function handOut(socket: Socket): (options: object, connected: Connected) => void {
  let isTaken = false;
  return (_options, connected) => {
    const isFirst = !isTaken;
    isTaken = true;
    // Later: undici does not expect an answer during its call.
    queueMicrotask(() => {
      if (isFirst) connected(null, socket);
      else connected(socket.errored ?? new Error("the connection was closed"), null);
    });
  };
}

function flat(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : (value ?? "")]));
}

export interface UnixGetOptions {
  /** For the connection and the answer, ms. */
  readonly timeoutMs: number;
  /** Maximum body. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** One GET over a Unix socket. Throws what `getOver` throws, and Node's error of a socket that cannot be connected to. */
export async function unixGet(socketPath: string, path: string, { timeoutMs, maxBytes, ...options }: UnixGetOptions): Promise<HttpAnswer> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
  const socket = connect({ path: socketPath }).on("error", ignoreError);
  try {
    await once(socket, "connect", { signal });
    return await getOver(socket, { host: "localhost", path, maxBytes, signal });
  } finally {
    socket.destroy();
  }
}
