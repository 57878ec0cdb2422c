import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { connect, type TLSSocket } from "node:tls";
import type { Entrance } from "./kube-platform.ts";

/* A client of Kubernetes without a library: it sends its input as it is. */

export interface Sent {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders | readonly string[];
  readonly body?: string | Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

/** TLS, verified, with the user's certificate. */
export async function connectKube({ host, port, servername, ca, cert, key }: Entrance): Promise<TLSSocket> {
  const socket = connect({ host, port, servername, ca, cert, key, ALPNProtocols: ["http/1.1"] });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return socket;
}

/** A request over a connection of its own; its body is still to come. */
export async function beginKube(entrance: Entrance, path: string, { method = "GET", headers = {} }: Sent = {}): Promise<ClientRequest> {
  const socket = await connectKube(entrance);
  const own = { host: `${entrance.host}:${entrance.port}` };
  // Pairs of names and values go out as they are.
  const all = Array.isArray(headers) ? ["host", own.host, ...(headers as readonly string[])] : { ...own, ...(headers as OutgoingHttpHeaders) };
  const sent = request({ createConnection: () => socket, method, path: `${entrance.prefix}${path}`, headers: all as OutgoingHttpHeaders });
  return sent.on("error", () => {});
}

export async function askKube(entrance: Entrance, path: string, sent: Sent = {}): Promise<Answer> {
  const begun = await beginKube(entrance, path, sent);
  begun.end(sent.body);
  const [response] = (await once(begun, "response")) as [IncomingMessage];
  const text = Buffer.concat((await response.toArray()) as Buffer[]).toString();
  begun.socket?.destroy();
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}

/** Lines of a head as they are; all that comes back within this time, or until the end of the connection. */
export async function askKubeRaw(entrance: Entrance, lines: readonly string[], limitMs = 5_000): Promise<string> {
  const socket = await connectKube(entrance);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.write(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  const ended = once(socket, "close", { signal: AbortSignal.timeout(limitMs) }).catch(() => {});
  await ended;
  socket.destroy();
  return Buffer.concat(chunks).toString("latin1");
}
