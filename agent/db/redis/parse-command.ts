import { beforeLogin, byte, encodeCommand, maxHeaderBytes, maxInlineBytes, newline, parseLength, protocolError } from "./resp.ts";
import { splitInline } from "./split-inline.ts";

export interface ParsedCommand {
  /** Empty for an empty line or array, which has no answer. */
  readonly words: readonly Buffer[];
  /** As an array, for the server. */
  readonly encoded: Buffer;
  /** Bytes that it took. */
  readonly length: number;
}

/** The first command in `bytes`, within the limits for clients that have not logged in; undefined: it is not complete. Throws `invalid`. Pure. */
export function parseCommand(bytes: Buffer): ParsedCommand | undefined {
  if (bytes.length === 0) return undefined;
  return bytes[0] === byte.star ? parseArray(bytes) : parseInline(bytes);
}

function parseInline(bytes: Buffer): ParsedCommand | undefined {
  const end = bytes.subarray(0, maxInlineBytes).indexOf(byte.lf);
  if (end < 0 && bytes.length >= maxInlineBytes) throw protocolError("too big inline request");
  if (end < 0) return undefined;
  const words = splitInline(bytes.subarray(0, end));
  return { words, encoded: words.length === 0 ? Buffer.alloc(0) : encodeCommand(words), length: end + 1 };
}

function parseArray(bytes: Buffer): ParsedCommand | undefined {
  const first = lengthAt(bytes, 0, { limit: beforeLogin.arguments, what: "unauthenticated multibulk length" });
  if (first === undefined) return undefined;
  const words: Buffer[] = [];
  let at = first.end;
  while (words.length < first.length) {
    if (at < bytes.length && bytes[at] !== byte.dollar) throw protocolError("expected '$' before the length of an argument");
    const size = lengthAt(bytes, at, { limit: beforeLogin.argumentBytes, what: "unauthenticated bulk length" });
    if (size === undefined) return undefined;
    if (size.length < 0) throw protocolError("invalid bulk length");
    at = size.end + size.length + 2;
    if (at > bytes.length) return undefined;
    if (!bytes.subarray(at - 2, at).equals(newline)) throw protocolError("an argument is longer than announced");
    words.push(bytes.subarray(size.end, at - 2));
  }
  return { words, encoded: bytes.subarray(0, at), length: at };
}

function lengthAt(bytes: Buffer, at: number, { limit, what }: { readonly limit: number; readonly what: string }) {
  const line = bytes.subarray(at, at + maxHeaderBytes);
  const end = line.indexOf(byte.lf);
  if (end < 0 && line.length === maxHeaderBytes) throw protocolError("too long a length");
  if (end < 0) return undefined;
  return { length: parseLength(line.subarray(0, end + 1), limit, what), end: at + end + 1 };
}
