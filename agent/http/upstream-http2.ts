import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import { gatherPieces } from "../../core/node-internals/gather-pieces.ts";
import type { HeaderField } from "../../core/resources/app-headers.ts";
import { ignoreError } from "../../core/transport/dial/attempt.ts";
import { pour } from "../../core/transport/pour.ts";
import { watchHttp2, watchStream } from "../../core/transport/watch-http2.ts";
import type { UpstreamAnswer, UpstreamRequest } from "./exchange.ts";
import { limitInterim } from "./interim.ts";
import { passedTrailers } from "./passed-fields.ts";
import type { OpenedRoad } from "./upstream-http1.ts";

/** Time within which the server has to accept the session, ms. */
const settleMs = 15_000;
const maxHead = 64 * 1024;

/** Bytes that one stream, and that all of a connection, may send before they are read. */
export interface Windows {
  readonly stream: number;
  readonly connection: number;
}

/** Memory that a session may take, MB, where all its streams may wait. */
const sessionMemory = 128;

export interface Http2Options {
  readonly scheme: "http" | "https";
  /** Name of the server, for errors. */
  readonly peer: string;
  /** Default: Node's, for one user. */
  readonly windows?: Windows;
}

/** Opens HTTP/2 over a connection. A server that vanishes ends it: PlatformError `timeout` of its requests. Throws Node's errors. */
export async function openHttp2({ socket }: OpenedRoad, { scheme, peer, windows }: Http2Options): Promise<ClientHttp2Session> {
  const session = connect(`${scheme}://server.invalid`, {
    createConnection: () => socket,
    settings: { enablePush: false, maxHeaderListSize: maxHead, ...(windows && { initialWindowSize: windows.stream }) },
    ...(windows && { maxSessionMemory: sessionMemory }),
  });
  session.on("error", ignoreError);
  watchHttp2({ session, socket, peer });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => session.destroy(new Error("the server did not accept HTTP/2")), settleMs);
  session.once("remoteSettings", () => resolve());
  session.once("error", reject).once("close", () => reject(new Error("the server closed the connection")));
  try {
    await promise;
    if (windows !== undefined) session.setLocalWindowSize(windows.connection);
    return session;
  } catch (thrown) {
    session.destroy();
    throw thrown;
  } finally {
    clearTimeout(timer);
  }
}

/** The server did nothing with a request, and has stated so: it is safe to repeat. */
export class UnreadRequest extends Error {}

/** Sends a request over HTTP/2. Throws UnreadRequest, PlatformError `timeout`, and Node's errors. */
export async function sendHttp2(session: ClientHttp2Session, asked: UpstreamRequest, scheme: "http" | "https"): Promise<UpstreamAnswer> {
  const { method, target, host, headers, body, trailers, signal, onInform, onData } = asked;
  const head = { ...fieldsObject(headers), ":method": method, ":path": target, ":scheme": scheme, ":authority": host };
  if (session.closed || session.destroyed) throw new UnreadRequest("the server takes no more requests on this connection");
  const stream = session.request(head, { endStream: body === undefined, waitForTrailers: body !== undefined });
  watchStream(gatherPieces(stream));
  // Node ends what it resets: a request whose client has left must not look complete.
  let isCancelled = false;
  const cancel = (): void => {
    isCancelled = true;
    // Later: Node loses a reset while it reads another session.
    setImmediate(() => stream.destroyed || stream.close(constants.NGHTTP2_CANCEL));
  };
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  stream.once("close", () => signal.removeEventListener("abort", cancel));
  let received: readonly HeaderField[] = [];
  stream.on("trailers", (fields: IncomingHttpHeaders) => {
    received = pairsOf(fields);
  });
  const count = limitInterim((error) => void setImmediate(() => stream.destroy(error)));
  stream.on("continue", () => onInform(100, []));
  stream.on("headers", (fields: IncomingHttpHeaders & { ":status"?: number }) => {
    count();
    const status = fields[":status"] ?? 0;
    if (status > 101 && status < 200) onInform(status, pairsOf(fields));
  });
  if (body !== undefined) {
    stream.once("wantTrailers", () => {
      if (!isCancelled && body.readableEnded) stream.sendTrailers(fieldsObject(passedTrailers(trailers())));
    });
    const stopPouring = pour(body.on("data", onData), stream);
    const onEnd = (): void => void stream.end();
    if (body.readableEnded) onEnd();
    else body.once("end", onEnd).resume();
    stream.once("close", () => {
      stopPouring();
      body.resume();
    });
  }
  return await answered(stream, () => received);
}

async function answered(stream: ClientHttp2Stream, trailers: () => readonly HeaderField[]): Promise<UpstreamAnswer> {
  return await new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      const isUnread = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM || ("code" in error && error.code === "ERR_HTTP2_GOAWAY_SESSION");
      reject(isUnread ? new UnreadRequest("the server did not read the request", { cause: error }) : error);
    };
    stream.on("error", fail).once("close", () => reject(new Error("the server ended the stream without a response")));
    stream.once("response", (fields: IncomingHttpHeaders & { ":status"?: number }, flags: number) => {
      const hasBody = (flags & constants.NGHTTP2_FLAG_END_STREAM) === 0;
      resolve({
        status: fields[":status"] ?? 0,
        message: "",
        headers: pairsOf(fields),
        body: stream,
        hasBody,
        trailers,
        isBroken: () => stream.aborted || stream.rstCode !== constants.NGHTTP2_NO_ERROR,
      });
    });
  });
}

/** Fields as HTTP/2 of Node gives them, in pairs. Pure. */
export function pairsOf(fields: IncomingHttpHeaders): readonly HeaderField[] {
  return Object.entries(fields).flatMap(([name, value]): readonly HeaderField[] => {
    if (name.startsWith(":") || value === undefined) return [];
    return typeof value === "string" ? [[name, value]] : value.map((one) => [name, one] as const);
  });
}

/** Fields as HTTP/2 of Node takes them. A field that may be there only once keeps its first value. Pure. */
export function fieldsObject(fields: readonly HeaderField[]): OutgoingHttpHeaders {
  const all = new Map<string, string[]>();
  for (const [name, value] of fields) {
    const lower = name.toLowerCase();
    const values = all.get(lower);
    if (values === undefined) all.set(lower, [value]);
    else if (!single.has(lower)) values.push(value);
  }
  return Object.fromEntries([...all].map(([name, values]) => [name, values.length === 1 ? values[0] : values]));
}

/** Of which Node accepts one value only. */
const single: ReadonlySet<string> = new Set(
  `access-control-allow-credentials access-control-max-age access-control-request-method age authorization content-encoding content-language
  content-length content-location content-md5 content-range content-type date dnt etag expires from host if-match if-modified-since if-none-match
  if-range if-unmodified-since last-modified location max-forwards proxy-authorization range referer retry-after tk upgrade-insecure-requests
  user-agent x-content-type-options`.split(/\s+/),
);
