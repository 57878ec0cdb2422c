import { constants, type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import { gatherPieces } from "../../core/node-internals/gather-pieces.ts";
import { leaveHandshake } from "../../core/node-internals/leave-handshake.ts";
import type { HeaderField } from "../../core/resources/app-headers.ts";
import type { ClientAnswer, ClientRequest } from "./exchange.ts";
import { type ConnectionLimits, type HttpHandlers, maxHead, usualLimits } from "./http-handlers.ts";
import { IdleLimit } from "./idle-limit.ts";
import { boundedInform } from "./interim.ts";
import { passedInterim } from "./passed-fields.ts";
import { fieldsObject, pairsOf } from "./upstream-http2.ts";

/** Frames that wait to be written before interim responses are left out. */
const mostWaiting = 32;
/** What a connection begins with when its client speaks HTTP/2 without asking (RFC 9113 §3.4). */
export const http2Preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** Serves a user's connection that speaks HTTP/2, until it ends. */
export async function serveHttp2(socket: TLSSocket, handlers: HttpHandlers, limits: ConnectionLimits = usualLimits): Promise<void> {
  leaveHandshake(socket);
  // Node's HTTP/2 writes past the stream: one of its own writes that is still under way would end the process (TLSWrap::DoWrite, !current_write_).
  if (!(await hasWritten(socket, limits.firstMs)) || socket.destroyed) return void socket.destroy();
  const http2 = performServerHandshake(socket, {
    maxSessionMemory: 16,
    settings: { maxConcurrentStreams: limits.maxExchanges, maxHeaderListSize: maxHead, enableConnectProtocol: false },
  });
  // GOAWAY: the client opens another connection for its next request.
  const limit = new IdleLimit(limits, () => {
    http2.close();
    setTimeout(() => socket.destroy(), 1_000).unref();
  });
  http2.on("error", () => socket.destroy());
  http2.on("stream", (stream, headers) => {
    gatherPieces(stream).on("error", () => {});
    stream.once("close", limit.begin());
    void handlers.exchange(clientRequest(stream, headers), answerTo(stream));
  });
  // Over a stream whose directions end apart, as of a tunnel, Node leaves the other one open.
  socket.once("end", () => socket.destroy());
  await new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  limit.stop();
  http2.destroy();
}

/** Whether all that was written to a stream has left it within this time, ms. */
async function hasWritten(socket: TLSSocket, limitMs: number): Promise<boolean> {
  if (socket.writableLength === 0) return true;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), limitMs);
  socket.write(Buffer.alloc(0), () => resolve(true));
  const isOut = await promise;
  clearTimeout(timer);
  return isOut;
}

function clientRequest(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): ClientRequest {
  const { ":method": method = "", ":path": path = "", ":authority": authority } = headers;
  let trailers: readonly HeaderField[] = [];
  stream.on("trailers", (fields: IncomingHttpHeaders) => {
    trailers = pairsOf(fields);
  });
  const fields = pairsOf(headers).filter(([name]) => name !== "host");
  const hosts = [authority, headers.host].filter((one) => one !== undefined);
  return {
    method: String(method),
    target: String(path),
    hosts,
    headers: fields,
    body: stream.endAfterHeaders ? undefined : stream,
    trailers: () => trailers,
    version: 2,
  };
}

function answerTo(stream: ServerHttp2Stream): ClientAnswer {
  const gone = new AbortController();
  let hasEnded = false;
  // Node ends what it resets: without this, a response that is broken off would look complete.
  let isBroken = false;
  let last: readonly HeaderField[] = [];
  stream.once("close", () => {
    if (!hasEnded || stream.rstCode !== constants.NGHTTP2_NO_ERROR) gone.abort();
  });
  stream.once("aborted", () => gone.abort());
  // After the response, the rest of the request is of no use.
  const finish = (): void => void setImmediate(() => stream.destroyed || stream.readableEnded || stream.close(constants.NGHTTP2_NO_ERROR));
  stream.once("wantTrailers", () => {
    if (isBroken) return;
    // Without fields, Node ends the stream with an empty DATA frame.
    stream.sendTrailers(fieldsObject(last));
    finish();
  });
  return {
    gone: gone.signal,
    inform: boundedInform(
      (status, headers) => {
        if (stream.headersSent || stream.destroyed || stream.closed) return;
        stream.additionalHeaders({ ...fieldsObject(passedInterim(headers)), ":status": status });
      },
      // Frames of headers go past the stream's own queue.
      () => (stream.session?.state.outboundQueueSize ?? mostWaiting) >= mostWaiting,
    ),
    begin: ({ status, headers }, hasBody) => {
      stream.respond({ ...fieldsObject(headers), ":status": status }, hasBody ? { waitForTrailers: true } : { endStream: true });
      return stream;
    },
    end: (trailers) => {
      hasEnded = true;
      last = trailers;
      if (stream.writableEnded) finish();
      else stream.end();
    },
    close: () => {},
    // GOAWAY.
    retire: () => stream.session?.close(),
    abort: () => {
      isBroken = true;
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    },
  };
}
