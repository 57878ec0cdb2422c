import { isUtf8 } from "node:buffer";

/*
 * Terminal output as text without loss. A recording is JSON, and JSON is text; a terminal accepts any bytes. A byte that is
 * not part of UTF-8 becomes a lone surrogate, U+DC80 for 0x80 to U+DCFF for 0xFF, as in PEP 383: other players show a
 * replacement character there, and ours restores the byte.
 */

/** First of the lone surrogates, less 0x80. */
const escapes = 0xdc00;
const loneSurrogate = /([\udc80-\udcff])/u;

/** Bytes to text, in any chunks: a character that is cut waits for its rest. */
export class TerminalText {
  /** At most three bytes. */
  #cut: Buffer = Buffer.alloc(0);

  take(chunk: Buffer): string {
    const bytes = this.#cut.length === 0 ? chunk : Buffer.concat([this.#cut, chunk]);
    const length = bytes.length - cutLength(bytes);
    this.#cut = Buffer.from(bytes.subarray(length));
    return textOf(bytes.subarray(0, length));
  }

  /** The pending bytes. */
  end(): string {
    const rest = textOf(this.#cut);
    this.#cut = Buffer.alloc(0);
    return rest;
  }
}

/** Text that `TerminalText` made, as the bytes that it was. */
export function terminalBytes(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text, "utf8");
  const parts = text.split(loneSurrogate).map((part) => {
    const code = part.charCodeAt(0);
    return part.length === 1 && code >= escapes + 0x80 && code <= escapes + 0xff ? Buffer.of(code - escapes) : Buffer.from(part, "utf8");
  });
  return Buffer.concat(parts);
}

function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = characterLength(bytes, at);
    if (length === 0) {
      parts.push(bytes.toString("utf8", from, at), String.fromCharCode(escapes + (bytes[at] ?? 0)));
      from = at + 1;
    }
    at += Math.max(1, length);
  }
  parts.push(bytes.toString("utf8", from));
  return parts.join("");
}

/** Length in bytes of the character at `at`, 0 when none begins there. */
function characterLength(bytes: Buffer, at: number): number {
  const length = announced(bytes[at] ?? 0);
  return length > 0 && isUtf8(bytes.subarray(at, at + length)) && at + length <= bytes.length ? length : 0;
}

/** Length of the character that this byte begins; 0 for none. */
function announced(byte: number): number {
  if (byte < 0x80) return 1;
  if (byte >= 0xc2 && byte < 0xe0) return 2;
  if (byte >= 0xe0 && byte < 0xf0) return 3;
  return byte >= 0xf0 && byte < 0xf5 ? 4 : 0;
}

/** Number of trailing bytes that may begin a character. */
function cutLength(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0x80 && byte < 0xc0) continue;
    return announced(byte) > back ? back : 0;
  }
  return 0;
}
