import { PlatformError } from "../../../core/errors/platform-error.ts";

/* JSON as bytes, without an object created for each value: where a value ends, and where the members of an object are. */

const quote = 0x22;
const backslash = 0x5c;
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const [comma, colon] = [0x2c, 0x3a];

/** Deepest nesting that is followed. */
export const maxDepth = 1_000;

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Where the value ends that begins at `start`, after its last byte; -1 when the bytes end first. Numbers and words end before what follows. */
export function endOfValue(bytes: Uint8Array, start: number): number {
  const first = bytes[start];
  if (first === quote) return endOfString(bytes, start + 1);
  if (first !== openBrace && first !== openBracket) return endOfWord(bytes, start);
  let depth = 0;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      at = endOfString(bytes, at + 1) - 1;
      if (at < 0) return -1;
    } else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      if (depth > maxDepth) throw malformed("is nested too deep");
    } else if (byte === closeBrace || byte === closeBracket) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

/** `from`: after the opening quote. */
function endOfString(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) return at + 1;
    if (byte === backslash) at += 1;
  }
  return -1;
}

function endOfWord(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && !isEnd(bytes[at])) at += 1;
  return at === bytes.length ? -1 : at;
}

function isEnd(byte: number | undefined): boolean {
  return byte === comma || byte === closeBrace || byte === closeBracket || isSpace(byte);
}

export interface Member {
  /** As written: an escaped one is not unescaped. */
  readonly key: string;
  /** Of its value. */
  readonly start: number;
  readonly end: number;
}

/** The members of the object that begins at `start`, in order. Throws `invalid` for what is not an object. */
export function* membersOf(bytes: Buffer, start: number): Generator<Member, void> {
  let at = firstName(bytes, start);
  while (at !== undefined) {
    const { key, value } = nameAt(bytes, at);
    const end = endOf(bytes, value);
    yield { key, start: value, end };
    at = nextName(bytes, end);
  }
}

/** Where the value of the first member of this name begins; undefined if there is none. What follows is not read. Throws `invalid`. */
export function valueAt(bytes: Buffer, start: number, wanted: string): number | undefined {
  let at = firstName(bytes, start);
  while (at !== undefined) {
    const { key, value } = nameAt(bytes, at);
    if (key === wanted) return value;
    at = nextName(bytes, endOf(bytes, value));
  }
  return undefined;
}

/** Where the name of the first member begins; undefined for an object without any. */
function firstName(bytes: Buffer, start: number): number | undefined {
  const open = skipSpace(bytes, start);
  if (bytes[open] !== openBrace) throw malformed("has something else in place of an object");
  const at = skipSpace(bytes, open + 1);
  return bytes[at] === closeBrace ? undefined : at;
}

function nextName(bytes: Buffer, end: number): number | undefined {
  const at = skipSpace(bytes, end);
  if (bytes[at] === closeBrace) return undefined;
  if (bytes[at] !== comma) throw malformed("has two values without a comma");
  return skipSpace(bytes, at + 1);
}

function nameAt(bytes: Buffer, at: number): { readonly key: string; readonly value: number } {
  if (bytes[at] !== quote) throw malformed("has a member without a name");
  const end = endOfString(bytes, at + 1);
  if (end < 0) throw malformed("is cut off");
  const mark = skipSpace(bytes, end);
  if (bytes[mark] !== colon) throw malformed("has a member without a value");
  return { key: bytes.toString("latin1", at + 1, end - 1), value: skipSpace(bytes, mark + 1) };
}

function endOf(bytes: Buffer, value: number): number {
  const end = endOfValue(bytes, value);
  if (end <= value) throw malformed("is cut off");
  return end;
}
/** The text of a value that is a string; undefined for any other value. */
export function textOf(bytes: Buffer, start: number): string | undefined {
  if (bytes[start] !== quote) return undefined;
  const end = endOf(bytes, start);
  const inner = bytes.subarray(start + 1, end - 1);
  if (!inner.includes(backslash)) return inner.toString("utf8");
  try {
    return String(JSON.parse(bytes.toString("utf8", start, end)));
  } catch {
    return undefined;
  }
}

export function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isSpace(bytes[at])) at += 1;
  return at;
}

export function malformed(why: string): PlatformError {
  return new PlatformError("invalid", `the JSON ${why}`);
}
