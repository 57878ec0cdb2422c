import { PlatformError } from "../../../core/errors/platform-error.ts";
import { isSpace, malformed, maxDepth } from "./scan-json.ts";

const [quote, backslash] = [0x22, 0x5c];

/** A value, or a part of one, in the bytes of a chunk. `whole`: all of it, once its end was seen. */
export interface ReadValue {
  /** Position after the bytes that belong to the value. */
  readonly at: number;
  readonly whole: Buffer | undefined;
}

/**
 * Reads one JSON value from chunks, whatever their borders: its bytes, unparsed. One reader reads one value after the other. Throws `limit` for one that is
 * too large.
 */
export class ValueReader {
  readonly #most: number;
  #parts: Buffer[] = [];
  #size = 0;
  #depth = 0;
  #isString = false;
  #isEscaped = false;
  #isOpen = false;

  /** `most`: maximum size of a value, bytes. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Whether a value has begun and not ended. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Reads on at `start`, which is the first byte of a value unless one is open. */
  read(chunk: Buffer, start: number): ReadValue {
    this.#isOpen = true;
    const end = this.#endIn(chunk, start);
    const part = chunk.subarray(start, end < 0 ? chunk.length : end);
    this.#size += part.length;
    if (this.#size > this.#most) throw new PlatformError("limit", `an object in the answer is larger than ${this.#most} bytes`);
    if (end < 0) {
      this.#parts.push(part);
      return { at: chunk.length, whole: undefined };
    }
    const whole = this.#parts.length === 0 ? part : Buffer.concat([...this.#parts, part]);
    this.#parts = [];
    this.#size = 0;
    this.#isOpen = false;
    return { at: end, whole };
  }

  #endIn(chunk: Buffer, start: number): number {
    let depth = this.#depth;
    let isString = this.#isString;
    let at = start;
    if (this.#isEscaped && at < chunk.length) {
      this.#isEscaped = false;
      at += 1;
    }
    const { length } = chunk;
    for (;;) {
      if (isString) {
        at = afterString(chunk, at);
        if (at > length) {
          this.#isEscaped = at === cutInEscape(length);
          break;
        }
        isString = false;
        if (depth === 0) return this.#closed(at);
      }
      if (at >= length) break;
      const byte = chunk[at];
      at += 1;
      if (byte === quote) isString = true;
      else if (byte === 0x7b || byte === 0x5b) {
        depth += 1;
        if (depth > maxDepth) throw malformed("is nested too deep");
      } else if (byte === 0x7d || byte === 0x5d) {
        if (depth === 0) return this.#closed(at - 1);
        depth -= 1;
        if (depth === 0) return this.#closed(at);
      } else if (depth === 0 && (byte === 0x2c || isSpace(byte))) return this.#closed(at - 1);
    }
    this.#depth = depth;
    this.#isString = isString;
    return -1;
  }

  #closed(end: number): number {
    this.#depth = 0;
    this.#isString = false;
    return end;
  }
}

/** Position after the quote that ends a string; past the chunk for a string that goes on, further if the chunk ends within an escape. */
function afterString(chunk: Buffer, from: number): number {
  const { length } = chunk;
  let at = from;
  for (; at < length; at += 1) {
    const byte = chunk[at];
    if (byte === quote) return at + 1;
    if (byte === backslash) at += 1;
  }
  return at === length ? length + 1 : cutInEscape(length);
}

function cutInEscape(length: number): number {
  return length + 2;
}
