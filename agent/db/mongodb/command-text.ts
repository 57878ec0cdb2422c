import { Decimal128 } from "bson";
import { type CappedText, cappedQuery, keptQueryBytes } from "../capped-text.ts";
import { type Element, elementsOf, isNested, maxDepth } from "./bson-elements.ts";
import { bsonType, malformed } from "./bson-fields.ts";
import type { Request } from "./wire-message.ts";

const masked = "***";
/** Fields at the top of any command that hold a secret: no command for data has one of these names there. */
const secrets = new Set(["pwd", "password", "digestpassword", "payload", "credentials", "speculativeauthenticate"]);
/** Commands of which only some fields are shown. */
const shownFields = new Map<string, ReadonlySet<string>>([["authenticate", new Set(["authenticate", "mechanism", "user", "db", "$db"])]]);
/** Fields that every command repeats, and that tell nothing about it. */
const noise = new Set(["$clusterTime"]);

/** A command for its audit event, as relaxed extended JSON: secrets are masked, and what exceeds the event is not read. Throws `invalid`. */
export function commandText({ command, sequences, length, isWhole }: Request): CappedText {
  const text = new JsonText();
  const [first] = elementsOf(command);
  const name = first?.key ?? "";
  text.add("{");
  let isFirst = true;
  for (const element of elementsOf(command)) {
    if (noise.has(element.key) || text.isFull) continue;
    text.field(element.key, isFirst);
    isFirst = false;
    if (isSecret(name, element.key)) text.add(JSON.stringify(masked));
    else text.value(element, 1);
  }
  for (const sequence of sequences) {
    text.field(sequence.name, isFirst);
    text.list(sequence.documents);
  }
  text.add("}");
  const bytes = Buffer.from(text.text);
  const isCut = text.isFull || !isWhole;
  return isCut ? cappedQuery(bytes, Math.max(length, keptQueryBytes + 1)) : cappedQuery(bytes);
}

function isSecret(command: string, key: string): boolean {
  const shown = shownFields.get(command.toLowerCase());
  const isParameter = command === "setParameter" && /passw|pwd|secret/i.test(key);
  return secrets.has(key.toLowerCase()) || isParameter || shown?.has(key) === false;
}

/** Relaxed extended JSON (github.com/mongodb/specifications, extended-json) up to the length that an event holds. */
class JsonText {
  text = "";

  get isFull(): boolean {
    return this.text.length > keptQueryBytes;
  }

  add(part: string): void {
    if (!this.isFull) this.text += part;
  }

  field(key: string, isFirst: boolean): void {
    this.add(`${isFirst ? "" : ","}${JSON.stringify(key.slice(0, keptQueryBytes))}:`);
  }

  list(documents: readonly Buffer[]): void {
    this.add("[");
    for (const [index, document] of documents.entries()) {
      if (this.isFull) break;
      if (index > 0) this.add(",");
      this.#document(document, false, 1);
    }
    this.add("]");
  }

  #document(document: Buffer, isArray: boolean, depth: number): void {
    if (depth > maxDepth) throw malformed(`it nests more than ${maxDepth} documents`);
    this.add(isArray ? "[" : "{");
    let isFirst = true;
    for (const element of elementsOf(document)) {
      if (this.isFull) return;
      if (!isArray) this.field(element.key, isFirst);
      else if (!isFirst) this.add(",");
      isFirst = false;
      this.value(element, depth + 1);
    }
    this.add(isArray ? "]" : "}");
  }

  value(element: Element, depth: number): void {
    const { type, value } = element;
    if (isNested(element)) this.#document(value, type === bsonType.array, depth);
    else if (type === bsonType.scopedCode) this.#code(value, depth);
    else this.add(scalar(element));
  }

  /** Code, and the document of its variables. */
  #code(value: Buffer, depth: number): void {
    const scope = 8 + value.readInt32LE(4);
    if (scope < 9 || scope > value.length - 5) throw malformed("the length of code is wrong");
    this.add(`{"$code":${string(value.subarray(8, scope - 1))},"$scope":`);
    this.#document(value.subarray(scope), false, depth);
    this.add("}");
  }
}

/** No more of a long value than an event can hold. */
function string(bytes: Buffer): string {
  return JSON.stringify(bytes.toString("utf8", 0, Math.min(bytes.length, keptQueryBytes)));
}

function double(number: number): string {
  if (!Number.isFinite(number)) return `{"$numberDouble":"${number}"}`;
  return Object.is(number, -0) ? "-0.0" : String(number);
}

function date(milliseconds: bigint): string {
  const isReadable = milliseconds >= 0n && milliseconds < 253_402_300_800_000n;
  return isReadable
    ? `{"$date":"${new Date(Number(milliseconds)).toISOString().replace(".000Z", "Z")}"}`
    : `{"$date":{"$numberLong":"${milliseconds}"}}`;
}

function binary(value: Buffer): string {
  const base64 = value.subarray(5, 5 + keptQueryBytes).toString("base64");
  return `{"$binary":{"base64":"${base64}","subType":"${value.toString("hex", 4, 5)}"}}`;
}

function regex(value: Buffer): string {
  const end = value.indexOf(0);
  return `{"$regularExpression":{"pattern":${string(value.subarray(0, end))},"options":${string(value.subarray(end + 1, -1))}}}`;
}

/** Text of a value by its type. */
const scalars: Readonly<Record<number, (value: Buffer) => string>> = {
  [bsonType.double]: (value) => double(value.readDoubleLE(0)),
  [bsonType.string]: (value) => string(value.subarray(4, -1)),
  [bsonType.binary]: (value) => binary(value),
  [bsonType.undefined]: () => `{"$undefined":true}`,
  [bsonType.objectId]: (value) => `{"$oid":"${value.toString("hex")}"}`,
  [bsonType.boolean]: (value) => String(value[0] !== 0),
  [bsonType.date]: (value) => date(value.readBigInt64LE(0)),
  [bsonType.null]: () => "null",
  [bsonType.regex]: (value) => regex(value),
  [bsonType.pointer]: (value) =>
    `{"$dbPointer":{"$ref":${string(value.subarray(4, -13))},"$id":{"$oid":"${value.toString("hex", value.length - 12)}"}}}`,
  [bsonType.code]: (value) => `{"$code":${string(value.subarray(4, -1))}}`,
  [bsonType.symbol]: (value) => `{"$symbol":${string(value.subarray(4, -1))}}`,
  [bsonType.int32]: (value) => String(value.readInt32LE(0)),
  [bsonType.timestamp]: (value) => `{"$timestamp":{"t":${value.readUInt32LE(4)},"i":${value.readUInt32LE(0)}}}`,
  [bsonType.int64]: (value) => String(value.readBigInt64LE(0)),
  [bsonType.decimal128]: (value) => `{"$numberDecimal":"${new Decimal128(value).toString()}"}`,
  [bsonType.minKey]: () => `{"$minKey":1}`,
  [bsonType.maxKey]: () => `{"$maxKey":1}`,
};

function scalar({ type, value }: Element): string {
  return scalars[type]?.(value) ?? "null";
}
