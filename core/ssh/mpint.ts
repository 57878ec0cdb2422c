import { string } from "../bytes/writer.ts";
import { PlatformError } from "../errors/platform-error.ts";

/** Unsigned big-endian bytes as an SSH mpint (RFC 4251 section 5): no leading zeros, one zero before a set high bit. */
export function writeMpint(bytes: Buffer): Buffer {
  const short = withoutZeros(bytes);
  return string(short.length > 0 && (short[0] as number) & 0x80 ? Buffer.concat([Buffer.of(0), short]) : short);
}

/** The unsigned bytes of an mpint's content, padded to `length` when given. Throws `invalid` for a negative or a longer one. */
export function readMpint(content: Buffer, length?: number): Buffer {
  if (content.length > 0 && (content[0] as number) & 0x80) throw new PlatformError("invalid", "negative number in an SSH key or signature");
  const short = withoutZeros(content);
  if (length === undefined) return short;
  if (short.length > length) throw new PlatformError("invalid", "number too long in an SSH key or signature");
  return Buffer.concat([Buffer.alloc(length - short.length), short]);
}

function withoutZeros(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length && bytes[start] === 0) start += 1;
  return bytes.subarray(start);
}
