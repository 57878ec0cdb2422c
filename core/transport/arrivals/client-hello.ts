import { Reader } from "../../bytes/fields.ts";
import { PlatformError } from "../../errors/platform-error.ts";

/**
 * The two facts of a TLS ClientHello by which the front door routes (RFC 8446 §4.1.2, RFC 6066 §3, RFC 7301 §3.1).
 *
 *   record     u8 type = 22, u16 version, u16 length (1 to 16,384), then that much of the handshake message
 *   handshake  u8 type = 1, u24 length, then
 *              u16 version, 32 bytes random, u8-string session id, u16-string cipher suites, u8-string compression,
 *              u16-string extensions: u16 type, u16-string body
 *   SNI   0    u16-string of: u8 type = 0, u16-string name
 *   ALPN 16    u16-string of: u8-string name
 */
export interface ClientHello {
  readonly servername: string | undefined;
  /** In the client's order of preference. */
  readonly alpn: readonly string[];
}

/** Maximum hello, in bytes on the wire, including record headers. */
export const maxClientHello = 16_384;

/**
 * Reads the hello at the start of `bytes`; undefined when it has not arrived in full. Depends only on the bytes: however
 * they were cut, the first answer that is not undefined is the same. Throws PlatformError `invalid` for anything else.
 */
export function parseClientHello(bytes: Buffer): ClientHello | undefined {
  const message = handshakeMessage(bytes.subarray(0, maxClientHello));
  if (message === undefined) {
    if (bytes.length >= maxClientHello) throw new PlatformError("invalid", `the TLS hello is longer than ${maxClientHello} bytes`);
    return undefined;
  }
  return parseBody(new Reader(message));
}

/** Joins the records' contents until the handshake message is whole. */
function handshakeMessage(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = [];
  let have = 0;
  let position = 0;
  let wanted = Number.POSITIVE_INFINITY;
  while (have < wanted) {
    checkRecordStart(bytes.subarray(position, position + 3));
    if (bytes.length < position + 5) return undefined;
    const length = bytes.readUInt16BE(position + 3);
    if (length === 0 || length > 16_384) throw new PlatformError("invalid", `a TLS record of ${length} bytes is not allowed in a hello`);
    const part = bytes.subarray(position + 5, position + 5 + length);
    parts.push(part);
    have += part.length;
    if (wanted === Number.POSITIVE_INFINITY && have >= 4) wanted = 4 + messageLength(Buffer.concat(parts));
    if (part.length < length && have < wanted) return undefined;
    position += 5 + length;
  }
  return Buffer.concat(parts).subarray(4, wanted);
}

function checkRecordStart(start: Buffer): void {
  const wrong = (start.length > 0 && start[0] !== 22) || (start.length > 1 && start[1] !== 3);
  if (wrong) throw new PlatformError("invalid", "the connection does not start with a TLS hello");
}

function messageLength(handshake: Buffer): number {
  if (handshake[0] !== 1) throw new PlatformError("invalid", "the first TLS message is not a ClientHello");
  const length = handshake.readUIntBE(1, 3);
  if (length > maxClientHello) throw new PlatformError("invalid", `the TLS hello is longer than ${maxClientHello} bytes`);
  return length;
}

function parseBody(body: Reader): ClientHello {
  body.take(2 + 32);
  body.take(body.u8());
  body.take(u16(body));
  body.take(body.u8());
  let servername: string | undefined;
  let alpn: readonly string[] = [];
  if (!body.done) {
    const extensions = new Reader(body.take(u16(body)));
    while (!extensions.done) {
      const type = u16(extensions);
      const value = new Reader(extensions.take(u16(extensions)));
      if (type === 0) servername = parseServerName(value);
      if (type === 16) alpn = parseAlpn(value);
    }
  }
  body.end("TLS hello");
  return { servername, alpn };
}

function parseServerName(value: Reader): string | undefined {
  const names = new Reader(value.take(u16(value)));
  value.end("TLS server name");
  while (!names.done) {
    const type = names.u8();
    const name = names.take(u16(names));
    if (type === 0) return name.toString("latin1").toLowerCase();
  }
  return undefined;
}

function parseAlpn(value: Reader): readonly string[] {
  const list = new Reader(value.take(u16(value)));
  value.end("TLS application protocols");
  const names: string[] = [];
  while (!list.done) names.push(list.take(list.u8()).toString("latin1"));
  return names;
}

function u16(reader: Reader): number {
  return reader.take(2).readUInt16BE();
}
