import type { Reader } from "../../../core/bytes/fields.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";

const end: Buffer = Buffer.of(0);

/** Bytes before the next zero byte; the reader goes on behind it. A view, not a copy. Throws PlatformError `invalid` where there is none. */
export function readCString(reader: Reader): Buffer {
  const length = reader.bytes.subarray(reader.position).indexOf(0);
  if (length < 0) throw new PlatformError("invalid", `the text at byte ${reader.position} has no end`);
  const text = reader.take(length);
  reader.take(1);
  return text;
}

/** A text and its zero byte. Zero bytes within it are left out. */
export function cString(text: Buffer | string): Buffer {
  return Buffer.concat([typeof text === "string" ? Buffer.from(text.replaceAll("\0", "")) : text, end]);
}
