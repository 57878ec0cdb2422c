import { once } from "node:events";
import { createServer } from "node:http";
import { performServerHandshake } from "node:http2";
import type { TLSSocket } from "node:tls";
import { errorText, type PlatformError } from "../errors/platform-error.ts";
import { leaveHandshake } from "../node-internals/leave-handshake.ts";
import { kubeStatusBody, kubeStatusCode } from "./status.ts";

/** Time that a refused client has for its request and for reading the answer, ms. */
const refusalMs = 10_000;
/** Requests of one refused connection of HTTP/2. */
const maxStreams = 32;

/**
 * Answers the first requests of a client that is refused with a Status of Kubernetes, and ends the connection, so that the client's next one is judged again.
 * Resolves when it has ended, or at the signal. Never throws.
 */
export async function refuseKubeClient(tls: TLSSocket, error: PlatformError, signal: AbortSignal): Promise<void> {
  if (tls.destroyed) return;
  const code = kubeStatusCode(error.code);
  const hint = error.hint === undefined ? "" : `\n${error.hint}`;
  const body = kubeStatusBody(code, error.code === "internal" ? "the proxy failed" : `${errorText(error)}${hint}`);
  const closed = once(tls, "close").catch(() => {});
  const limit = AbortSignal.any([signal, AbortSignal.timeout(refusalMs)]);
  const end = (): void => void tls.destroy();
  limit.addEventListener("abort", end);
  if (limit.aborted) end();
  if (tls.alpnProtocol === "h2") answerHttp2(tls, code, body);
  else answerHttp1(tls, code, body);
  await closed;
  limit.removeEventListener("abort", end);
}

function headers(body: string): Readonly<Record<string, string>> {
  return { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)), "cache-control": "no-store" };
}

function answerHttp1(tls: TLSSocket, code: number, body: string): void {
  const server = createServer({ keepAlive: false }, (request, response) => {
    request.resume();
    response
      .on("error", () => {})
      .writeHead(code, { ...headers(body), connection: "close" })
      .end(body);
  });
  server.on("clientError", () => void tls.destroy());
  server.emit("connection", tls);
}

function answerHttp2(tls: TLSSocket, code: number, body: string): void {
  leaveHandshake(tls);
  const session = performServerHandshake(tls, { settings: { maxConcurrentStreams: maxStreams } });
  session.on("error", () => void tls.destroy());
  session.on("stream", (stream) => {
    stream.on("error", () => {}).resume();
    // What arrives in one read may open a stream and reset it: Node reports it all the same.
    if (!stream.destroyed && !stream.closed) {
      stream.respond({ ":status": code, ...headers(body) });
      stream.end(body);
    }
    // Streams that are open are answered; clients open another connection for the rest.
    if (!session.closed) session.close();
  });
}
