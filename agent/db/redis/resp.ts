import { PlatformError } from "../../../core/errors/platform-error.ts";

/*
 * RESP, the protocol of Redis and Valkey. A command is an array of byte strings, each with its length:
 *
 *   *2 CR LF  $3 CR LF  GET CR LF  $1 CR LF  k CR LF
 *
 * or a line of text ("inline"). Of a reply the first byte is the type: a line (+ - : _ , # "("), bytes with their length ($ ! =), or a number of
 * elements that follow (* ~ > %, and | before the element that it describes).
 */

/** Limits of the real servers: proto-max-bulk-len, the maximum number of arguments, and the length of an inline command. */
export const maxArgumentBytes = 512 * 1024 * 1024;
export const maxArguments = 1024 * 1024;
export const maxInlineBytes = 64 * 1024;
/** Those for a client that has not logged in (CVE-2021-32675). */
export const beforeLogin = { arguments: 10, argumentBytes: 16 * 1024 } as const;

/** Longest line that holds a length or a number of elements, CR LF included. */
export const maxHeaderBytes = 32;

export const newline = Buffer.from("\r\n");

export const byte = { star: 0x2a, dollar: 0x24, cr: 0x0d, lf: 0x0a } as const;

const [minus, zero] = [0x2d, 0x30];

/** The error of a peer that does not speak RESP. */
export function protocolError(what: string): PlatformError {
  return new PlatformError("invalid", `Protocol error: ${what}`);
}

/**
 * The number in `line` between its type and its CR LF; -1 stands for null. Throws `invalid` for more than `limit`, and for other spellings of the
 * same number: a server could read them otherwise.
 */
export function parseLength(line: Buffer, limit: number, what: string): number {
  const end = line.length - 2;
  if (end < 1 || line[end] !== byte.cr) throw protocolError(`invalid ${what}`);
  if (end === 3 && line[1] === minus && line[2] === zero + 1) return -1;
  let length = 0;
  for (let at = 1; at < end; at += 1) {
    const digit = (line[at] ?? 0) - zero;
    if (digit < 0 || digit > 9) throw protocolError(`invalid ${what}`);
    length = length * 10 + digit;
  }
  if (end < 2 || end > 16 || (line[1] === zero && end > 2)) throw protocolError(`invalid ${what}`);
  if (length > limit) throw protocolError(`invalid ${what}: ${length} exceeds ${limit}`);
  return length;
}

/** The first word of what a client sent, for the report of a malformed command; never more, as a secret can follow. */
export function openingOf(bytes: Buffer): Buffer {
  const text = bytes.toString("latin1", 0, 16);
  return Buffer.from(text.replace(/[\s"'\\][\s\S]*$/, ""), "latin1");
}

export function encodeCommand(words: readonly (Buffer | string)[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${words.length}\r\n`)];
  for (const word of words) {
    const bytes = Buffer.from(word);
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, newline);
  }
  return Buffer.concat(parts);
}
