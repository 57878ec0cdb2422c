import type { TLSSocket } from "node:tls";

/**
 * For a TLS server socket made by hand, once its handshake is over. Node's own TLS server clears this flag, without which an HTTP/2 session waits
 * forever; a bare TLSSocket keeps it (Node 24.21, lib/internal/tls/wrap.js).
 */
export function leaveHandshake(tls: TLSSocket): void {
  Object.assign(tls, { secureConnecting: false });
}
