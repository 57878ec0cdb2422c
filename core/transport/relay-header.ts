import { Reader, string, u8, u32 } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";

/**
 * The proxy's header before it relays a client to the auth service, ALPN `platform-auth-relay`.
 *
 *   RelayHeader  u32 length of what follows (at most 256)
 *                u8  version = 1
 *                string clientAddress  "ip:port" of the client
 */
export interface RelayHeader {
  readonly clientAddress: string;
}

/** Maximum header, without its length. */
export const maxRelayHeader = 256;
const protocolVersion = 1;

export function encodeRelayHeader({ clientAddress }: RelayHeader): Buffer {
  const body = Buffer.concat([u8(protocolVersion), string(clientAddress)]);
  return Buffer.concat([u32(body.length), body]);
}

/** `body` is the header without its length. Throws PlatformError `invalid` or `unsupported`. */
export function decodeRelayHeader(body: Buffer): RelayHeader {
  const reader = new Reader(body);
  const version = reader.u8();
  if (version !== protocolVersion) throw new PlatformError("unsupported", `relay header of version ${version}; only ${protocolVersion} is supported`);
  const clientAddress = reader.text();
  reader.end("relay header");
  return { clientAddress };
}
