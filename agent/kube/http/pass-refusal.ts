import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UpstreamAnswer } from "../../http/exchange.ts";
import { closing, encodeHead, endSoon } from "../../http/raw-response.ts";
import { answeredHeaders } from "./sent-headers.ts";

/** Time that the API server, and the client, have for the body of a refusal, ms. */
const usualMs = 10_000;

interface RefusalLife {
  /** The client has left, or the platform ends the request. */
  readonly signal: AbortSignal;
  /** Called with the status of the refusal before anything is sent. */
  readonly onStatus: (status: number, error: PlatformError) => void;
  readonly limitMs?: number;
}

/**
 * Passes on the API server's refusal of a stream as the last response of the client's connection, which then ends whatever the client, or the API server,
 * still sends. Resolves with the refusal as an error. Throws `unavailable` for a redirect.
 */
export async function passRefusal(
  { status, message, headers, body, hasBody }: UpstreamAnswer,
  socket: Duplex,
  { signal, onStatus, limitMs = usualMs }: RefusalLife,
): Promise<PlatformError> {
  if (status >= 300 && status < 400) {
    body.destroy();
    // CVE-2020-8559: a stream is never sent elsewhere.
    throw new PlatformError("unavailable", "the API server answered a request for a stream with a redirect, which is not followed");
  }
  const error = new PlatformError("unavailable", `the API server did not begin the stream: it answered ${status}`);
  onStatus(status, error);
  socket.write(encodeHead({ status, message, headers: [...answeredHeaders(headers), closing] }));
  // The connection ends with the body; it does not wait for a server that never ends it, or for a client that does not read it.
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  if (hasBody) await pipeline(body, socket, { end: false, signal: limit }).catch(() => {});
  body.destroy();
  endSoon(socket);
  return error;
}
