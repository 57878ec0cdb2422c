import type { Connection } from "ssh2";
import { type Client, rawConnection } from "./ssh2.ts";

/**
 * ssh2 keeps all of the last key exchange (both sides' offers, keys, the shared secret) until the next one. Afterwards only the
 * session's id and what was negotiated are asked for; the rest is dropped, which makes an idle connection smaller by 8 KiB.
 */
export function forgetExchanges(connection: Client | Connection): void {
  const protocol = rawConnection(connection)._protocol;
  connection.on("handshake", () => {
    const exchange = protocol._kex;
    // ssh2 is still in the middle of it.
    process.nextTick(() => {
      if (protocol._kex !== exchange) return;
      const { sessionID, negotiated } = exchange;
      protocol._kex = { sessionID, negotiated };
      // Slices of shared memory, which each would keep from being freed.
      if (protocol._remoteIdentRaw !== undefined) protocol._remoteIdentRaw = unshared(protocol._remoteIdentRaw);
      const decipher = protocol._decipher;
      if (decipher?._tag !== undefined) decipher._tag = unshared(decipher._tag);
    });
  });
}

function unshared(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
