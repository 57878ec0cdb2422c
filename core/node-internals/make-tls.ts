import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";

/** Time for a reader that takes nothing, ms (the next stream may be to a client that reads slowly: core/transport/relay.ts), and between looks at it. */
const readMs = 300_000;
const lookMs = 1_000;

/**
 * Makes TLS over a socket or another stream, and completes what Node does at its end (24.21):
 * - A failure after the handshake ends TLS and the stream below it: a record that does not decrypt, an alert, an error of the stream. Node reports it
 *   at most (lib/internal/tls/wrap.js, `_emitTLSError`).
 * - Over a stream other than a socket, Node destroys TLS as soon as the stream has closed, and up to 64 KiB with it that its reader has yet to take
 *   (lib/internal/js_stream_socket.js): here these are read first.
 */
export function makeTls(stream: Duplex, make: () => TLSSocket): TLSSocket {
  const tls = stream instanceof Socket ? make() : readBeforeClose(stream, make);
  return tls.on("_tlsError", onFailure);
}

/** Node emits `error` by itself only once a client's handshake is over; for a server that it did not make, never. */
function onFailure(this: TLSSocket, error: Error): void {
  this.destroy(Reflect.get(this, "_controlReleased") === true ? undefined : error);
}

function readBeforeClose(stream: Duplex, make: () => TLSSocket): TLSSocket {
  const others = new Set(stream.rawListeners("close"));
  const tls = make();
  for (const destroy of stream.rawListeners("close")) {
    if (others.has(destroy)) continue;
    stream.off("close", destroy as () => void);
    stream.once("close", () => afterReading(tls, () => void destroy.call(stream)));
  }
  return tls;
}

function afterReading(tls: TLSSocket, destroy: () => void): void {
  if (tls.destroyed || tls.readableLength === 0) {
    destroy();
    return;
  }
  let [unread, left] = [tls.readableLength, readMs / lookMs];
  // A stream that closed without an end leaves TLS without one.
  const look = setInterval(() => {
    left = tls.readableLength === unread ? left - 1 : readMs / lookMs;
    unread = tls.readableLength;
    if (unread === 0 || left === 0) over();
  }, lookMs).unref();
  const over = (): void => {
    clearInterval(look);
    destroy();
  };
  tls.once("end", over).once("close", over);
}
