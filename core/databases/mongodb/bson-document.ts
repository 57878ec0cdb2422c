/*
 * Of BSON (bsonspec.org) what an answer to a refused client needs, numbers little-endian: `i32 length, itself included | element… | 0`
 *
 *   element   type u8 | name 0 | value
 *   02        i32 length with the 0 | text 0
 *   08        u8, 1 for true
 *   09        i64, ms since 1970
 *   10        i32
 */
const types = { text: 2, boolean: 8, date: 9, int32: 16 } as const;
const lengthBytes = 4;

/** A number is an int32. */
export type BsonValue = string | boolean | number | Date;

/** A document of these fields, in their order. Names and values are our own, and bounded by the caller. Throws RangeError for a larger number. Pure. */
export function encodeDocument(fields: Readonly<Record<string, BsonValue>>): Buffer {
  const elements = Object.entries(fields).map(([name, value]) => encodeElement(Buffer.from(`${name}\0`), value));
  const length = elements.reduce((sum, element) => sum + element.length, lengthBytes + 1);
  return Buffer.concat([int32(length), ...elements, Buffer.of(0)]);
}

function encodeElement(name: Buffer, value: BsonValue): Buffer {
  if (typeof value === "boolean") return Buffer.concat([Buffer.of(types.boolean), name, Buffer.of(value ? 1 : 0)]);
  if (typeof value === "number") return Buffer.concat([Buffer.of(types.int32), name, int32(value)]);
  if (typeof value === "string") {
    const text = Buffer.from(`${value}\0`);
    return Buffer.concat([Buffer.of(types.text), name, int32(text.length), text]);
  }
  const date = Buffer.alloc(8);
  date.writeBigInt64LE(BigInt(value.getTime()));
  return Buffer.concat([Buffer.of(types.date), name, date]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

/** Longest name of a command that is looked for, bytes. */
const maxName = 64;

/** Name of the first field of the document that begins these bytes, which is that of the command; empty if there is none. Pure; never throws. */
export function firstFieldName(document: Buffer): string {
  const names = document.subarray(lengthBytes + 1, lengthBytes + 1 + maxName + 1);
  const end = names.indexOf(0);
  return end < 0 || document[lengthBytes] === 0 ? "" : names.toString("utf8", 0, end);
}
