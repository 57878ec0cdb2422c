import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";

/** Time for a reader that has stopped, ms. */
const readMs = 300_000;

/**
 * Makes TLS over a stream. Over one other than a socket, Node destroys TLS as soon as the stream has closed, and up to 64 KiB with it that its reader has
 * yet to take (Node 24.21, lib/internal/js_stream_socket.js): here these are read first.
 */
export function readBeforeClose(stream: Duplex, make: () => TLSSocket): TLSSocket {
  if (stream instanceof Socket) return make();
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
  const timer = setTimeout(destroy, readMs);
  const over = (): void => {
    clearTimeout(timer);
    destroy();
  };
  tls.once("end", over).once("close", over);
}
