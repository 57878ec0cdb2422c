import { serialize } from "bson";
import { bsonType, documentLength, FieldCursor, malformed } from "./bson-fields.ts";

/** A field of a document, read where it lies. */
export interface Element {
  readonly type: number;
  readonly key: string;
  readonly value: Buffer;
  /** The element as it stands in its document: type, name and value. */
  readonly bytes: Buffer;
}

/** Deepest nesting of a document that is read; servers refuse more than 200. */
export const maxDepth = 200;

/** The document that begins at `at`. Throws `invalid`. */
export function documentAt(bytes: Buffer, at: number): Buffer {
  return bytes.subarray(at, at + documentLength(bytes, at));
}

/** The elements of a document, in their order. Throws `invalid` at the first that is malformed, and after the first `most`. */
export function* elementsOf(document: Buffer, most: number = Number.POSITIVE_INFINITY): Generator<Element> {
  const cursor = new FieldCursor(document, 0);
  for (let count = 1; cursor.next(); count += 1) {
    if (count > most) throw malformed(`a document of more than ${most} fields`);
    yield elementAt(cursor);
  }
}

function elementAt({ bytes, type, name, nameEnd, value, end }: FieldCursor): Element {
  return { type, key: bytes.toString("utf8", name, nameEnd), value: bytes.subarray(value, end), bytes: bytes.subarray(name - 1, end) };
}

/** The text of a string; undefined for other types. */
export function textOf(element: Element | undefined): string | undefined {
  return element?.type === bsonType.string ? element.value.toString("utf8", 4, element.value.length - 1) : undefined;
}

/** The text of a string, or of the type that servers read as one. */
export function nameIn(element: Element): string | undefined {
  return element.type === bsonType.symbol ? element.value.toString("utf8", 4, element.value.length - 1) : textOf(element);
}

/** Whether a value is true as servers see it: true, or a number that is not 0. */
export function isTrue(element: Element | undefined): boolean {
  if (element === undefined) return false;
  const { type, value } = element;
  if (type === bsonType.double) return value.readDoubleLE(0) !== 0;
  const counts = type === bsonType.boolean || type === bsonType.int32 || type === bsonType.int64;
  return counts && value.some((byte) => byte !== 0);
}

/** A field by its path, in ASCII; undefined where it is not there. Throws `invalid`. */
export function fieldOf(document: Buffer, ...path: readonly string[]): Element | undefined {
  const [key = "", ...rest] = path;
  const cursor = new FieldCursor(document, 0);
  while (cursor.next()) {
    if (!cursor.isNamed(key)) continue;
    const element = elementAt(cursor);
    if (rest.length === 0) return element;
    return isNested(element) ? fieldOf(element.value, ...rest) : undefined;
  }
  return undefined;
}

/** Whether the value is a document or an array. */
export function isNested({ type }: Element): boolean {
  return type === bsonType.document || type === bsonType.array;
}

/** A document of the elements for which `keeps` holds, and of `added` behind them. */
export function editedDocument(document: Buffer, keeps: (key: string) => boolean, added: Readonly<Record<string, unknown>> = {}): Buffer {
  const kept = [...elementsOf(document)].filter(({ key }) => keeps(key)).map(({ bytes }) => bytes);
  const body = Buffer.concat([...kept, Buffer.from(serialize(added)).subarray(4, -1)]);
  const length = Buffer.alloc(4);
  length.writeInt32LE(body.length + 5);
  return Buffer.concat([length, body, Buffer.of(0)]);
}
