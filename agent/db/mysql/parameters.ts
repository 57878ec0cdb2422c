import { Reader } from "../../../core/bytes/fields.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { maxParameters } from "../../../core/kinds/db/db-events.ts";
import { cappedValue } from "../capped-text.ts";
import { readValue, type ValueType } from "./binary-value.ts";
import { lenenc, lenencBytes, u16 } from "./wire.ts";

/** Maximum parameters of a statement. */
const maxCount = 65_535;
/** Bytes of an attribute's name that are looked at: more than an event has room for. */
const shownNameBytes = 300;

export interface BoundParameters {
  /** The first ones, as text. */
  readonly values: readonly (string | null)[];
  /** Types of the same ones, for later executions that leave them out. */
  readonly types: readonly ValueType[];
  /** Names of the same ones, if they have names and their types came with them; query attributes have. */
  readonly names: readonly string[];
}

export interface ParameterLayout {
  readonly count: number;
  /** Whether names stand behind the types: the session has query attributes. */
  readonly named: boolean;
  /** Types of an earlier execution. */
  readonly types: readonly ValueType[];
  /** Sizes of parameters that came as long data before. */
  readonly long: ReadonlyMap<number, number>;
}

/**
 * Reads bound parameters: `NULL bitmap | 1 if types follow | type u16, name lenenc (if named) for each | values`. The bytes may end early: complete values count,
 * and `complete` tells whether they are all. Throws PlatformError `invalid` for impossible values.
 */
export function readParameters(reader: Reader, layout: ParameterLayout): BoundParameters & { readonly complete: boolean } {
  const { count, named, long } = layout;
  if (count > maxCount) throw new PlatformError("invalid", `${count} parameters; a statement has at most ${maxCount}`);
  const bitmap = reader.take((count + 7) >> 3);
  const { types, names } = reader.u8() === 1 ? readTypes(reader, count, named) : { types: layout.types, names: [] };
  const values: (string | null)[] = [];
  for (let index = 0; index < Math.min(count, types.length); index += 1) {
    if (reader.done && !long.has(index) && !isNull(bitmap, index)) break;
    values.push(one(reader, { index, bitmap, types, long }));
  }
  const complete = count === values.length;
  return { values: values.slice(0, maxParameters), types: types.slice(0, maxParameters), names, complete };
}

function readTypes(reader: Reader, count: number, named: boolean): Pick<BoundParameters, "types" | "names"> {
  const types: ValueType[] = [];
  const names: string[] = [];
  for (let index = 0; index < count; index += 1) {
    types.push(u16(reader));
    if (!named) continue;
    const name = lenencBytes(reader);
    if (names.length < maxParameters) names.push(name.subarray(0, shownNameBytes).toString("utf8"));
  }
  return { types, names };
}

/** A query attribute for an event: its name and its value. */
export function attributeText(name: string, value: string | null): string {
  return cappedValue(`${name}=${value ?? "NULL"}`);
}

interface Place {
  readonly index: number;
  readonly bitmap: Buffer;
  readonly types: readonly ValueType[];
  readonly long: ReadonlyMap<number, number>;
}

function one(reader: Reader, { index, bitmap, types, long }: Place): string | null {
  const size = long.get(index);
  if (size !== undefined) return `(${size} bytes of long data)`;
  return isNull(bitmap, index) ? null : readValue(reader, types[index] ?? 6);
}

function isNull(bitmap: Buffer, index: number): boolean {
  return ((bitmap[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;
}

/** What stands before the text of a query. */
export interface QueryAttributes {
  /** Position of the text. */
  readonly end: number;
  /** Name and value of each, the first ones. */
  readonly texts: readonly string[];
}

/**
 * The attributes of a query: `count lenenc | 1 lenenc | parameters`, exactly as servers read them. Throws PlatformError `invalid` for what a server
 * refuses or could read in another way, also if the bytes end before the text.
 */
export function readAttributes(bytes: Buffer): QueryAttributes {
  const reader = new Reader(bytes);
  const count = lenenc(reader);
  const sets = lenenc(reader);
  if (sets !== 1) throw new PlatformError("invalid", `a query has ${sets} sets of attributes instead of 1`);
  if (count === 0) return { end: reader.position, texts: [] };
  const { complete, names, values } = readParameters(reader, { count, named: true, types: [], long: new Map() });
  if (!complete || reader.done) throw new PlatformError("invalid", "the attributes of a query are not complete");
  return { end: reader.position, texts: values.map((value, index) => attributeText(names[index] ?? "", value)) };
}
