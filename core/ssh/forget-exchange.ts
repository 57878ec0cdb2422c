import type { Connection } from "ssh2";
import type { Protocol } from "ssh2/lib/protocol/Protocol.js";
import { type Client, rawConnection } from "./ssh2.ts";

/**
 * ssh2 keeps all of the last key exchange (both sides' offers, keys, the shared secret) until the next one. Afterwards only the
 * session's id and what was negotiated are asked for; the rest is dropped, which makes an idle connection smaller by 8 KiB.
 */
export function forgetExchanges(connection: Client | Connection): void {
  connection.on("handshake", forgetThisExchange);
}

function forgetThisExchange(this: Client | Connection): void {
  const protocol = rawConnection(this)._protocol;
  // ssh2 is still in the middle of it.
  process.nextTick(forget, protocol, protocol._kex);
}

function forget(protocol: Protocol, exchange: Protocol["_kex"]): void {
  if (protocol._kex !== exchange) return;
  const { sessionID, negotiated } = exchange;
  protocol._kex = { sessionID, negotiated };
  // Slices of shared memory, which each would keep from being freed.
  if (protocol._remoteIdentRaw !== undefined) protocol._remoteIdentRaw = sameAsLast(protocol._remoteIdentRaw);
  const decipher = protocol._decipher;
  if (decipher?._tag !== undefined) decipher._tag = unshared(decipher._tag);
}

let lastIdent: Buffer | undefined;

/** The version line: agents of one version all send the same. */
function sameAsLast(ident: Buffer): Buffer {
  if (lastIdent?.equals(ident) !== true) lastIdent = unshared(ident);
  return lastIdent;
}

function unshared(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
