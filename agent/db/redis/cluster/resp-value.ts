import { maxArgumentBytes, maxHeaderBytes, parseLength, protocolError } from "../resp.ts";

/** A reply as a tree. `type` is its first byte as text. */
export type RespValue = RespText | RespList;

/** A line (`+ - : _ , # (`), bytes with their length (`$ ! =`), or null of RESP2 (`$-1`, `*-1`), whose `bytes` are undefined. */
export interface RespText {
  readonly type: string;
  readonly bytes: Buffer | undefined;
  /** Length as the client reads it, where a mark stands in `bytes`. */
  readonly width?: number;
}

/** `* ~ >`, or `%` with keys and values in turn. */
export interface RespList {
  readonly type: string;
  readonly items: readonly RespValue[];
}

/** Deepest nesting, and elements, of a reply that is read. */
const maxDepth = 16;
const maxElements = 100_000;

export function isList(value: RespValue | undefined): value is RespList {
  return value !== undefined && "items" in value;
}

/** The text of a value; undefined for a list and for null. */
export function textOf(value: RespValue | undefined): string | undefined {
  return value === undefined || isList(value) ? undefined : value.bytes?.toString("utf8");
}

/** Reads one whole reply; attributes of RESP3 are left out. Throws `invalid`. */
export function readValue(reply: Buffer): RespValue {
  const reader = { reply, at: 0, elements: 0 };
  const value = next(reader, 0);
  if (reader.at !== reply.length) throw protocolError("more than one reply");
  return value;
}

interface Reading {
  readonly reply: Buffer;
  at: number;
  elements: number;
}

function next(reading: Reading, depth: number): RespValue {
  reading.elements += 1;
  if (depth > maxDepth || reading.elements > maxElements) throw protocolError("a reply with too many elements");
  const { reply, at } = reading;
  const end = reply.indexOf("\r\n", at);
  if (end < 0) throw protocolError("an incomplete reply");
  const type = reply.toString("latin1", at, at + 1);
  reading.at = end + 2;
  if ("+-:_,#(".includes(type)) return { type, bytes: reply.subarray(at + 1, end) };
  if (end - at > maxHeaderBytes) throw protocolError("invalid length in a reply");
  const length = parseLength(reply.subarray(at, end + 2), maxArgumentBytes, "length in a reply");
  if (length < 0) return { type, bytes: undefined };
  if ("$!=".includes(type)) {
    const bytes = reply.subarray(end + 2, end + 2 + length);
    reading.at += length + 2;
    if (reading.at > reply.length) throw protocolError("an incomplete reply");
    return { type, bytes };
  }
  if (type === "|") {
    for (let left = 2 * length; left > 0; left -= 1) next(reading, depth + 1);
    return next(reading, depth + 1);
  }
  if (!"*~>%".includes(type)) throw protocolError(`a reply of type ${JSON.stringify(type)}`);
  const items: RespValue[] = [];
  for (let left = type === "%" ? 2 * length : length; left > 0; left -= 1) items.push(next(reading, depth + 1));
  return { type, items };
}

export function encodeValue(value: RespValue): Buffer {
  const parts: Buffer[] = [];
  write(value, parts);
  return Buffer.concat(parts);
}

function write(value: RespValue, parts: Buffer[]): void {
  const { type } = value;
  if (isList(value)) {
    const { length } = value.items;
    parts.push(Buffer.from(`${type}${type === "%" ? length / 2 : length}\r\n`));
    for (const item of value.items) write(item, parts);
    return;
  }
  const { bytes, width } = value;
  if (bytes === undefined) parts.push(Buffer.from(`${type}-1\r\n`));
  else if ("$!=".includes(type)) parts.push(Buffer.from(`${type}${width ?? bytes.length}\r\n`), bytes, Buffer.from("\r\n"));
  else parts.push(Buffer.from(type), bytes, Buffer.from("\r\n"));
}
