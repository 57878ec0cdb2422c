import { Duplex } from "node:stream";
import type { RawData, WebSocket } from "ws";
import { PlatformError } from "../../errors/platform-error.ts";
import { gatherPieces } from "../../node-internals/gather-pieces.ts";

/** Where a proxy takes connection upgrades, and the sub-protocol of the WebSocket (PROTOCOL.md, section 1). */
export const upgradePath = "/webapi/connectionupgrade";
export const upgradeProtocol = "alpn-ping";

/** Longest message that is sent, and the longest that is taken, bytes. */
const sentMessage = 32_768;
const maxMessage = 65_536;
/** Bytes, and messages, that may wait in the connection before a writer has to: Node keeps some 1 KiB for each message. */
const [sendAhead, messagesAhead] = [262_144, 1_024];
/** Interval of pings, ms: balancers cut connections that were silent for a minute. */
export const pingMs = 25_000;

/** Settings of `ws` for both ends. A message that comes in very many pieces costs more memory than it holds. */
export const upgradeLimits = {
  maxPayload: maxMessage,
  maxFragments: 256,
  maxBufferedChunks: 4096,
  perMessageDeflate: false,
} as const;

/**
 * The byte stream inside a WebSocket: binary messages are its bytes, in any division; an empty one is the end of its direction, since a WebSocket ends both at
 * once. A text message, bytes after the end, or a WebSocket that closes before it break the stream. It sends pings, and expects no answers: those of a peer whose
 * reader is slow wait behind its data. One listener stays, which keeps late errors from ending the process.
 */
export function websocketStream(socket: WebSocket, everyMs = pingMs): Duplex {
  let hasEnded = false;
  const send = sender(socket);
  const stream = new Duplex({
    read: () => socket.resume(),
    write: (bytes: Buffer, _encoding, done) => send(bytes, done),
    final: (done) => socket.send(Buffer.alloc(0), done),
    destroy: (error, done) => {
      clearInterval(pings);
      if (stream.readableEnded && stream.writableFinished) {
        socket.resume();
        socket.close(normalClosure);
      } else socket.terminate();
      done(error);
    },
  });
  // Messages of one byte, while nobody reads.
  gatherPieces(stream);
  const pings = setInterval(() => {
    if (socket.readyState === socket.OPEN && socket.bufferedAmount === 0) socket.ping();
  }, everyMs).unref();
  socket.on("message", (data: RawData, isBinary: boolean) => {
    // Binary messages are single buffers unless another type was asked for.
    const bytes = data as Buffer;
    if (!isBinary || hasEnded)
      stream.destroy(new PlatformError("invalid", isBinary ? "bytes after the end of a stream" : "a text message in a byte stream"));
    else if (bytes.length === 0) {
      hasEnded = true;
      stream.push(null);
    } else if (!stream.push(bytes)) socket.pause();
  });
  socket.on("error", (cause) => stream.destroy(cause));
  socket.on("close", () => {
    const cut = (): void => void stream.destroy(new ConnectionCut());
    // What came before its end is still to be read.
    if (!hasEnded || stream.readableEnded) cut();
    else stream.once("end", cut);
  });
  return stream.on("error", () => {});
}

/** RFC 6455, 7.4.1. */
const normalClosure = 1000;

/** The WebSocket has ended before its stream: a balancer cuts it, or the peer has gone. */
class ConnectionCut extends Error {
  readonly code = "ECONNRESET";
  constructor() {
    super("the connection was cut");
  }
}

/** Sends bytes in messages; `done` when there is room for more. */
function sender(socket: WebSocket): (bytes: Buffer, done: (error?: Error | null) => void) => void {
  /** Messages since the connection had taken all of them. */
  let ahead = 0;
  return (bytes, done) => {
    const last = Math.max(0, Math.ceil(bytes.length / sentMessage) - 1) * sentMessage;
    for (let at = 0; at < last; at += sentMessage) socket.send(bytes.subarray(at, at + sentMessage));
    ahead = socket.bufferedAmount === 0 ? 1 : ahead + 1;
    const hasRoom = socket.bufferedAmount < sendAhead && ahead < messagesAhead;
    // An empty message would be an end.
    if (bytes.length > 0) socket.send(bytes.subarray(last), hasRoom ? undefined : done);
    if (bytes.length === 0 || hasRoom) done();
  };
}
