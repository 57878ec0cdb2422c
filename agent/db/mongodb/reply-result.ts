import type { StatementResult } from "../../../core/recording/statements.ts";
import { type Element, elementsOf, isTrue, textOf } from "./bson-elements.ts";
import { bsonType } from "./bson-fields.ts";
import { type Header, opcode } from "./wire-message.ts";

/** Longest reply that is read as a whole, and bytes of a longer one: an error stands in its first fields. */
const maxWhole = 4_096;
const keptOfLong = 1_024;

/** Bytes of a reply that its result needs. */
export function keptOfReply({ length }: Header): number {
  return length <= maxWhole ? length : keptOfLong;
}

/**
 * The result of a command, from the beginning of the server's reply: `section` begins behind its flags. What stands further back is not known: of a
 * long list of documents, neither their number nor whether the server finished it. Pure; never throws.
 */
export function replyResult(command: string, { opcode: code }: Pick<Header, "opcode">, section: Buffer): StatementResult {
  if (code !== opcode.msg || section[0] !== 0) return { outcome: "unknown" };
  const document = section.subarray(1);
  const isCut = document.length < 5 || document.readInt32LE() > document.length;
  const fields = fieldsOf(isCut ? asWhole(document) : document);
  const ok = fields.get("ok");
  const counts = { ...rowsOf(fields), ...affectedOf(command, fields) };
  if (ok !== undefined && !isTrue(ok)) return { outcome: "failed", ...counts, ...errorOf(fields) };
  const error = writeErrorOf(fields.get("writeErrors")) ?? errorOf(elementsByKey(fields.get("writeConcernError")));
  if (error !== undefined) return { outcome: "failed", ...counts, ...error };
  // Errors of single documents can stand in the part that is not here.
  return { outcome: ok === undefined || isCut ? "unknown" : "ok", ...counts };
}

type Fields = ReadonlyMap<string, Element>;

/** The part of a document that was kept, as a document: a field that is cut makes it malformed at its end. */
function asWhole(document: Buffer): Buffer {
  if (document.length < 5) return document;
  const part = Buffer.from(document);
  part.writeInt32LE(part.length);
  part[part.length - 1] = 0;
  return part;
}

/** The top-level fields that are there. */
function fieldsOf(document: Buffer): Fields {
  const fields = new Map<string, Element>();
  try {
    for (const element of elementsOf(document)) fields.set(element.key, element);
  } catch {
    // The rest of it was not kept.
  }
  return fields;
}

function elementsByKey(element: Element | undefined): Fields {
  return element !== undefined && element.type === bsonType.document ? fieldsOf(element.value) : new Map();
}

/** Documents in a cursor's batch, if all of it was kept. */
function rowsOf(fields: Fields): Pick<StatementResult, "rows"> {
  const cursor = elementsByKey(fields.get("cursor"));
  const rows = lengthOf(cursor.get("firstBatch") ?? cursor.get("nextBatch"));
  return rows === undefined ? {} : { rows };
}

/** `n` of an update counts documents that were found; `nModified` those that have changed. In other commands `n` has other meanings. */
function affectedOf(command: string, fields: Fields): Pick<StatementResult, "affected"> {
  if (command !== "insert" && command !== "update" && command !== "delete") return {};
  const affected = countOf(fields.get(command === "update" ? "nModified" : "n"));
  return affected === undefined ? {} : { affected: affected + (lengthOf(fields.get("upserted")) ?? 0) };
}

/** Number of elements of an array; undefined: it is none. */
function lengthOf(array: Element | undefined): number | undefined {
  if (array === undefined || array.type !== bsonType.array) return undefined;
  try {
    return [...elementsOf(array.value)].length;
  } catch {
    return undefined;
  }
}

function errorOf(fields: Fields): Pick<StatementResult, "code" | "message"> | undefined {
  const message = textOf(fields.get("errmsg"));
  if (message === undefined) return undefined;
  const code = countOf(fields.get("code"));
  const name = textOf(fields.get("codeName"));
  const words = [code === undefined ? "" : String(code), name === undefined ? "" : `(${name})`].filter((word) => word !== "");
  return { message, ...(words.length > 0 && { code: words.join(" ") }) };
}

/** The first of the errors of a command that writes several documents. */
function writeErrorOf(errors: Element | undefined): ReturnType<typeof errorOf> {
  if (errors === undefined || errors.type !== bsonType.array) return undefined;
  const [first] = fieldsOf(errors.value).values();
  return errorOf(elementsByKey(first));
}

/** A number that is a count, as servers write it: in 32 or 64 bits, or as a double. */
function countOf(element: Element | undefined): number | undefined {
  if (element === undefined) return undefined;
  const { type, value } = element;
  const number =
    type === bsonType.int32
      ? value.readInt32LE()
      : type === bsonType.int64
        ? Number(value.readBigInt64LE())
        : type === bsonType.double
          ? value.readDoubleLE()
          : -1;
  return Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}
