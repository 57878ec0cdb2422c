import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { PassThrough } from "node:stream";
import type { TLSSocket } from "node:tls";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { PlatformError } from "../errors/platform-error.ts";
import { type SilenceLimits, watchHttp2, watchStream } from "../transport/watch-http2.ts";

/** Time for which an idle connection is kept, ms. */
const idleMs = 10_000;
/** Maximum answer, bytes. */
const maxMessage = 16 * 1024 * 1024;

/** One connection to the auth service, and the calls on it. */
export interface AuthSession {
  readonly transport: Transport;
  /** Whether it takes further calls. */
  isUsable(): boolean;
  /** Whether it takes none because its server is leaving (GOAWAY): those that the server has begun are still answered. */
  isLeaving(): boolean;
  /** Takes no further calls, and ends after those on it. */
  leave(): void;
  /** Calls `listener` once a session that is leaving is gone. */
  onClosed(listener: () => void): void;
  /** Ends it, and with it the calls on it. */
  cut(): void;
}

export interface AuthSessionOptions {
  /** Of a call without a deadline of its own. */
  readonly timeoutMs: number;
  /** After which silence of a service that has calls to answer, a watch among them, the connection is given up. */
  readonly silence: SilenceLimits;
}

/** HTTP/2 over `socket`. Throws `unavailable`. */
export async function openAuthSession(socket: TLSSocket, { timeoutMs, silence }: AuthSessionOptions): Promise<AuthSession> {
  const manager = new Http2SessionManager("https://auth", { idleConnectionTimeoutMs: idleMs }, { createConnection: () => socket });
  let http2: ClientHttp2Session | undefined;
  const isLeaving = (): boolean => http2?.closed === true && !http2.destroyed;
  const isUsable = (): boolean => {
    // The manager hears of an end a little later.
    if (http2?.closed === true || http2?.destroyed === true) return false;
    return ["open", "idle", "verifying"].includes(manager.state());
  };
  const transport = createGrpcTransport({
    baseUrl: "https://auth",
    sessionManager: {
      authority: manager.authority,
      request: async (...call) => {
        // The manager would begin a second session on the socket.
        if (!isUsable()) throw new ConnectError(`the connection is closed, ${notBegun}`, Code.Unavailable);
        const stream = await manager.request(...call);
        http2 ??= stream.session as ClientHttp2Session | undefined;
        if (http2 !== undefined) watchHttp2({ session: http2, socket, peer: "the auth service" }, silence);
        watchStream(stream);
        outliveManager(stream.session);
        return readAhead(stream);
      },
      notifyResponseByteRead: (stream) => manager.notifyResponseByteRead(stream),
    },
    defaultTimeoutMs: timeoutMs,
    acceptCompression: [],
    readMaxBytes: maxMessage,
  });
  // The manager would wait for a connection that is over.
  if (socket.destroyed || (await manager.connect()) === "error") {
    socket.destroy();
    throw new PlatformError("unavailable", "the auth service closed the connection", { cause: manager.error() });
  }
  // The manager alone would wait for its last write, on a connection whose other end may no longer read.
  const cut = (): void => {
    manager.abort();
    socket.destroy();
  };
  return {
    transport,
    isUsable,
    isLeaving,
    leave: () => {
      if (http2 === undefined) cut();
      else http2.close();
    },
    onClosed: (listener) => void socket.once("close", listener),
    cut,
  };
}

/** As the gRPC library names it. */
const notBegun = "REFUSED_STREAM";

/** Whether a call failed before the server began it: GOAWAY has crossed it, and does not name it (RFC 9113, 6.8 and 8.7). It is safe to make it once more. */
export function isNotBegun(thrown: unknown): boolean {
  return ConnectError.from(thrown).rawMessage.includes(notBegun);
}

/**
 * The manager takes its listener off when it is closed. A session that has just received GOAWAY fails after that, which
 * without a listener would end the process (connect-node 2, http2-session-manager.js, onGoaway).
 */
function outliveManager(session: ClientHttp2Stream["session"]): void {
  if (session !== undefined && !session.listeners("error").includes(ignore)) session.on("error", ignore);
}

function ignore(): void {}

/**
 * Makes a call's answer outlive its HTTP/2 stream. An answer that arrives whole in one read closes the stream before the
 * gRPC library asks for its first byte, and its iterator then fails with "Premature close" (Node 24.21; seen over SSH
 * channels, where many packets arrive at once). Reading starts here at once; the size is bounded by back-pressure.
 */
function readAhead(stream: ClientHttp2Stream): ClientHttp2Stream {
  const answer = new PassThrough();
  answer.on("error", () => {});
  stream.once("error", (error: Error) => answer.destroy(error));
  stream.once("close", () => {
    if (!stream.readableEnded) answer.destroy();
  });
  stream.pipe(answer);
  return Object.defineProperty(stream, Symbol.asyncIterator, { value: () => answer[Symbol.asyncIterator]() });
}
