import { isDeepStrictEqual } from "node:util";
import type { Protocol } from "ssh2/lib/protocol/Protocol.js";

/**
 * ssh2 keeps all of the last key exchange (both sides' offers, keys, the shared secret) until the next one. Afterwards only the
 * session's id and the negotiated algorithms are needed; the rest is dropped. Call it at the end of an exchange.
 */
export function forgetExchange(protocol: Protocol): void {
  // ssh2 is still in the middle of it.
  process.nextTick(forget, protocol, protocol._kex);
}

function forget(protocol: Protocol, exchange: Protocol["_kex"]): void {
  if (protocol._kex !== exchange) return;
  const decipher = protocol._decipher;
  // Slices of shared memory, each of which would keep it from being freed: the rest is copied into a block of its own.
  const kept = unshared(Buffer.concat([exchange.sessionID, decipher?._tag ?? Buffer.alloc(0)]));
  protocol._kex = { sessionID: kept.subarray(0, exchange.sessionID.length), negotiated: sameNegotiated(exchange.negotiated) };
  if (decipher?._tag !== undefined) decipher._tag = kept.subarray(exchange.sessionID.length);
  if (protocol._remoteIdentRaw !== undefined) protocol._remoteIdentRaw = sameAsLast(protocol._remoteIdentRaw);
}

let lastNegotiated: Protocol["_kex"]["negotiated"] | undefined;

/** The names of algorithms: nearly all connections choose the same. Only a finished exchange writes to it. */
function sameNegotiated(negotiated: Protocol["_kex"]["negotiated"]): Protocol["_kex"]["negotiated"] {
  if (!isDeepStrictEqual(lastNegotiated, negotiated)) lastNegotiated = negotiated;
  return lastNegotiated ?? negotiated;
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
