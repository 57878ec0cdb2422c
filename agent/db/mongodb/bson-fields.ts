import { PlatformError } from "../../../core/errors/platform-error.ts";

/*
 * BSON (bsonspec.org):
 *
 *     document: int32 length | field ... | 0
 *     field:    byte type | name ... 0 | value
 */

export const bsonType = {
  double: 1,
  string: 2,
  document: 3,
  array: 4,
  binary: 5,
  undefined: 6,
  objectId: 7,
  boolean: 8,
  date: 9,
  null: 10,
  regex: 11,
  pointer: 12,
  code: 13,
  symbol: 14,
  scopedCode: 15,
  int32: 16,
  timestamp: 17,
  int64: 18,
  decimal128: 19,
  minKey: 255,
  maxKey: 127,
} as const;

const variable = -1;
/** Sizes of values by type; of one that has a length of its own: `variable`. */
const sizes = new Map<number, number>([
  ...(["string", "document", "array", "binary", "regex", "pointer", "code", "symbol", "scopedCode"] as const).map(
    (type) => [bsonType[type], variable] as const,
  ),
  ...(["undefined", "null", "minKey", "maxKey"] as const).map((type) => [bsonType[type], 0] as const),
  ...(["double", "date", "timestamp", "int64"] as const).map((type) => [bsonType[type], 8] as const),
  [bsonType.boolean, 1],
  [bsonType.int32, 4],
  [bsonType.objectId, 12],
  [bsonType.decimal128, 16],
]);

/**
 * Walks the fields of one document where they lie, without reading values: millions of them fit into a command, and an object for each would hold up all other
 * sessions. `name`, `nameEnd`, `value` and `end` are positions in `bytes`.
 */
export class FieldCursor {
  readonly bytes: Buffer;
  readonly #last: number;
  type = 0;
  name = 0;
  nameEnd = 0;
  value = 0;
  end: number;

  /** Of the document that begins at `at`. Throws `invalid`. */
  constructor(bytes: Buffer, at: number) {
    this.bytes = bytes;
    this.end = at + 4;
    this.#last = at + documentLength(bytes, at) - 1;
  }

  /** Goes to the next field; false: there is none. Throws `invalid` for one that is malformed. */
  next(): boolean {
    const { bytes } = this;
    if (this.end >= this.#last) return false;
    this.type = bytes[this.end] ?? 0;
    this.name = this.end + 1;
    let at = this.name;
    while (at < this.#last && bytes[at] !== 0) at += 1;
    if (at >= this.#last) throw malformed("the name of a field has no end");
    this.nameEnd = at;
    this.value = at + 1;
    this.end = this.value + this.#size();
    if (this.end > this.#last) throw malformed("a field is longer than its document");
    return true;
  }

  isNamed(name: string): boolean {
    return this.nameEnd - this.name === name.length && this.bytes.toString("latin1", this.name, this.nameEnd) === name;
  }

  /** Whether the value is a document or an array. */
  get isNested(): boolean {
    return this.type === bsonType.document || this.type === bsonType.array;
  }

  /** The text of a string; undefined for other types. */
  get text(): string | undefined {
    return this.type === bsonType.string ? this.bytes.toString("utf8", this.value + 4, this.end - 1) : undefined;
  }

  /** Bytes of the value. */
  #size(): number {
    const size = sizes.get(this.type);
    if (size === undefined) throw malformed(`a field has the unknown type ${this.type}`);
    return size === variable ? variableSize(this.bytes.subarray(this.value, this.#last), this.type) : size;
  }
}

function variableSize(bytes: Buffer, type: number): number {
  switch (type) {
    case bsonType.document:
    case bsonType.array:
      return documentLength(bytes, 0);
    case bsonType.binary:
      return 5 + notNegative(int32At(bytes, 0));
    case bsonType.regex:
      return textEnd(bytes, textEnd(bytes, 0));
    case bsonType.pointer:
      return stringSize(bytes) + 12;
    case bsonType.scopedCode: {
      const length = int32At(bytes, 0);
      if (length < 14) throw malformed("the length of code is wrong");
      return length;
    }
    default:
      return stringSize(bytes);
  }
}

/** Length of the document that begins at `at`. Throws `invalid`. */
export function documentLength(bytes: Buffer, at: number): number {
  const length = int32At(bytes, at);
  if (length < 5 || length > bytes.length - at || bytes[at + length - 1] !== 0) throw malformed("the length of a document is wrong");
  return length;
}

function stringSize(bytes: Buffer): number {
  const length = int32At(bytes, 0);
  if (length < 1 || length > bytes.length - 4 || bytes[3 + length] !== 0) throw malformed("the length of a string is wrong");
  return 4 + length;
}

/** End of the text that begins at `at` and ends with a zero. */
function textEnd(bytes: Buffer, at: number): number {
  const end = bytes.indexOf(0, at);
  if (end < 0) throw malformed("a text has no end");
  return end + 1;
}

function int32At(bytes: Buffer, at: number): number {
  if (at + 4 > bytes.length) throw malformed("it ends in the middle of a field");
  return bytes.readInt32LE(at);
}

function notNegative(length: number): number {
  if (length < 0) throw malformed("a length is negative");
  return length;
}

export function malformed(what: string): PlatformError {
  return new PlatformError("invalid", `malformed BSON: ${what}`);
}
