import type { Reader } from "../../../core/bytes/fields.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";

/** Longest payload of one packet; a packet of exactly this length continues in the next one. */
export const maxPayload = 0xff_ffff;

export function u16(reader: Reader): number {
  return reader.take(2).readUInt16LE();
}

export function u32(reader: Reader): number {
  return reader.take(4).readUInt32LE();
}

/** A length-encoded integer: one byte below 251, or FC u16, FD u24, FE u64. */
export function lenenc(reader: Reader): number {
  const first = reader.u8();
  if (first < 0xfb) return first;
  if (first === 0xfc) return u16(reader);
  if (first === 0xfd) return reader.take(3).readUIntLE(0, 3);
  const long = first === 0xfe ? reader.take(8).readBigUInt64LE() : undefined;
  if (long === undefined || long > BigInt(Number.MAX_SAFE_INTEGER)) throw new PlatformError("invalid", "a length-encoded integer is not valid");
  return Number(long);
}

/** A length-encoded integer, then that many bytes: a view, not a copy. */
export function lenencBytes(reader: Reader): Buffer {
  return reader.take(lenenc(reader));
}

/** Bytes up to a zero, which is read too. */
export function zeroTerminated(reader: Reader): Buffer {
  const end = reader.bytes.indexOf(0, reader.position);
  if (end < 0) throw new PlatformError("invalid", "a text without its end");
  const bytes = reader.take(end - reader.position);
  reader.u8();
  return bytes;
}

function encodeLenenc(value: number): Buffer {
  if (value < 0xfb) return Buffer.of(value);
  const bytes = Buffer.alloc(value < 0x1_0000 ? 3 : value <= maxPayload ? 4 : 9);
  if (bytes.length === 9) bytes.writeBigUInt64LE(BigInt(value), 1);
  else bytes.writeUIntLE(value, 1, bytes.length - 1);
  bytes[0] = bytes.length === 3 ? 0xfc : bytes.length === 4 ? 0xfd : 0xfe;
  return bytes;
}

export function encodeLenencBytes(bytes: Buffer): Buffer {
  return Buffer.concat([encodeLenenc(bytes.length), bytes]);
}

export function u32le(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}
