import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { agentRequest } from "./agent-requests.ts";
import { answerHeaders, requestHeaders } from "./pass-on.ts";

export interface Upgrading {
  /** A connection for this request alone. */
  readonly connect: () => Promise<TLSSocket>;
  /** Both ends, once the application has answered 101: it lasts until both have ended. */
  readonly join: (client: Duplex, agent: Duplex) => void;
}

/** Time for the application's answer, ms. */
const answerMs = 60_000;

/**
 * Passes a request for another protocol on, over a connection of its own. Bytes flow only after the agent has answered 101; any other answer is passed back as HTTP, and both
 * connections end with it. Throws PlatformError before any answer.
 */
export async function passUpgrade(
  request: IncomingMessage,
  { socket, head }: { readonly socket: Duplex; readonly head: Buffer },
  upgrading: Upgrading,
): Promise<void> {
  const agent = await upgrading.connect();
  if (socket.destroyed) return void agent.destroy();
  socket.once("close", () => agent.destroy());
  agent.once("close", () => socket.end());
  const { method, url: path, rawHeaders } = request;
  const upstream = agentRequest({ method, path, headers: requestHeaders(rawHeaders), over: agent });
  const timer = setTimeout(() => upstream.destroy(new PlatformError("timeout", "the application did not answer in time")), answerMs);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  upstream.once("upgrade", (answer, stream, first) => {
    socket.write(startLine(answer, answer.rawHeaders));
    if (first.length > 0) socket.write(first);
    if (head.length > 0) stream.write(head);
    upgrading.join(socket, stream);
    resolve();
  });
  upstream.once("response", (answer) => {
    socket.write(startLine(answer, [...answerHeaders(answer.rawHeaders), "Connection", "close"]));
    answer.pipe(socket);
    resolve();
  });
  upstream.once("error", reject);
  upstream.end();
  try {
    await promise;
  } catch (thrown) {
    agent.destroy();
    throw thrown;
  } finally {
    clearTimeout(timer);
  }
}

/** The beginning of an answer, byte for byte: Node reads headers as Latin-1. Pure. */
function startLine({ statusCode, statusMessage }: IncomingMessage, raw: readonly string[]): Buffer {
  const fields = Array.from({ length: raw.length / 2 }, (_, index) => `${raw[2 * index]}: ${raw[2 * index + 1]}\r\n`);
  return Buffer.from(`HTTP/1.1 ${statusCode} ${statusMessage}\r\n${fields.join("")}\r\n`, "latin1");
}
