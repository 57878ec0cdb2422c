import { Reader, u32 } from "../../../core/bytes/fields.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { cString, readCString } from "./c-string.ts";

/*
 * The first packets of a connection have no type (PostgreSQL, "Message Formats"):
 *
 *   u32 length, itself included | u32 code | body
 *
 *   80877103 SSLRequest     no body
 *   80877104 GSSENCRequest  no body
 *   80877102 CancelRequest  u32 process id, then the secret: 4 bytes in protocol 3.0, 4 to 256 in 3.2
 *   major << 16 | minor     StartupMessage: (name \0 value \0)… \0
 */

export interface Parameter {
  readonly name: string;
  /** As sent: the client's encoding is unknown. */
  readonly value: Buffer;
}
/** Identifies a session at the server in a request to cancel its query. */
export interface CancelKey {
  readonly pid: number;
  readonly secret: Buffer;
}
export interface StartupPacket {
  readonly kind: "startup";
  /** The minor version of protocol 3 that the client asked for. */
  readonly minor: number;
  readonly parameters: readonly Parameter[];
}
export interface CancelPacket extends CancelKey {
  readonly kind: "cancel";
}
export type FirstPacket = StartupPacket | CancelPacket | { readonly kind: "tls" | "gss" };

const tlsCode = 80_877_103;
const gssCode = 80_877_104;
const cancelCode = 80_877_102;
/** Maximum bytes behind the length, as in the server. */
const maxBody = 10_000;
/** Lengths of a secret in the protocol's versions. */
const secretBytes = { min: 4, max: 256 } as const;

/** Length of the whole packet by its first four bytes. Throws PlatformError `invalid`. */
export function firstPacketLength(head: Buffer): number {
  const length = head.readUInt32BE(0);
  if (length >= 8 && length <= maxBody + 4) return length;
  // A ClientHello: handshake record, version 3.x.
  if (head[0] === 0x16 && head[1] === 3) {
    const hint = "use sslmode=disable, and sslnegotiation=postgres: the tunnel has encrypted the connection already";
    throw new PlatformError("invalid", "the client began TLS without asking for it", { hint });
  }
  throw new PlatformError("invalid", `the client is not one of PostgreSQL: its first packet announces ${length} bytes`);
}

/** Reads a whole packet. Throws PlatformError `invalid`, and `unsupported` for another major version. */
export function decodeFirstPacket(packet: Buffer): FirstPacket {
  try {
    return readFirst(packet);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "invalid") throw thrown;
    throw new PlatformError("invalid", `could not read the client's first packet: ${thrown.message}`, { cause: thrown });
  }
}

function readFirst(packet: Buffer): FirstPacket {
  const reader = new Reader(packet);
  reader.take(4);
  const code = reader.u32();
  if (code === tlsCode || code === gssCode) {
    reader.end("a request for encryption");
    return { kind: code === tlsCode ? "tls" : "gss" };
  }
  if (code === cancelCode) return { kind: "cancel", ...readCancelKey(reader) };
  const [major, minor] = [code >>> 16, code & 0xffff];
  if (major === 3) return { kind: "startup", minor, parameters: readParameters(reader) };
  throw new PlatformError("unsupported", `protocol ${major}.${minor} of PostgreSQL is not served; use a client that speaks protocol 3`);
}

/** Process id and secret up to the end; BackendKeyData has the same body. Throws PlatformError `invalid`. */
export function readCancelKey(reader: Reader): CancelKey {
  const pid = reader.u32();
  const length = reader.remaining;
  if (length < secretBytes.min || length > secretBytes.max) throw new PlatformError("invalid", `a cancel key of ${length} bytes`);
  return { pid, secret: Buffer.from(reader.take(length)) };
}

function readParameters(reader: Reader): Parameter[] {
  const parameters: Parameter[] = [];
  for (;;) {
    const name = readCString(reader);
    if (name.length === 0) break;
    parameters.push({ name: name.toString("latin1"), value: Buffer.from(readCString(reader)) });
  }
  reader.end("the startup packet");
  return parameters;
}

export const tlsRequest: Buffer = packet(tlsCode, Buffer.alloc(0));

export function encodeCancel({ pid, secret }: CancelKey): Buffer {
  return packet(cancelCode, Buffer.concat([u32(pid), secret]));
}

/** Throws PlatformError `invalid` for one that the server would refuse as too long. */
export function encodeStartup({ minor, parameters }: Pick<StartupPacket, "minor" | "parameters">): Buffer {
  const pairs = parameters.flatMap(({ name, value }) => [cString(Buffer.from(name, "latin1")), cString(value)]);
  const body = Buffer.concat([...pairs, Buffer.of(0)]);
  if (body.length + 4 > maxBody) throw new PlatformError("invalid", `the startup packet has ${body.length + 4} bytes; ${maxBody} are allowed`);
  return packet(((3 << 16) | minor) >>> 0, body);
}

function packet(code: number, body: Buffer): Buffer {
  return Buffer.concat([u32(8 + body.length), u32(code), body]);
}
