import { Reader } from "../../../core/bytes/fields.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { maxParameters } from "../../../core/kinds/db/db-events.ts";
import { readValue, type ValueType } from "./binary-value.ts";
import { lenenc, lenencBytes, u16 } from "./wire.ts";

/** Most parameters that a statement can have. */
const maxCount = 65_535;

export interface BoundParameters {
  /** The first ones, as text. */
  readonly values: readonly (string | null)[];
  /** Types of the same ones, for later executions that leave them out. */
  readonly types: readonly ValueType[];
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
 * Reads bound parameters: `NULL bitmap | 1 if types follow | type u16, name lenenc (if named) for each | values`. The bytes may end early: what is
 * whole counts, and `complete` says whether that is all. Throws PlatformError `invalid` for what cannot be.
 */
export function readParameters(reader: Reader, layout: ParameterLayout): BoundParameters & { readonly complete: boolean } {
  const { count, named, long } = layout;
  if (count > maxCount) throw new PlatformError("invalid", `${count} parameters; a statement has at most ${maxCount}`);
  const bitmap = reader.take((count + 7) >> 3);
  const types = reader.u8() === 1 ? readTypes(reader, count, named) : layout.types;
  const values: (string | null)[] = [];
  for (let index = 0; index < Math.min(count, types.length); index += 1) {
    if (reader.done && !long.has(index) && !isNull(bitmap, index)) break;
    values.push(one(reader, { index, bitmap, types, long }));
  }
  return { values: values.slice(0, maxParameters), types: types.slice(0, maxParameters), complete: count === values.length };
}

function readTypes(reader: Reader, count: number, named: boolean): ValueType[] {
  const types: ValueType[] = [];
  for (let index = 0; index < count; index += 1) {
    types.push(u16(reader));
    if (named) lenencBytes(reader);
  }
  return types;
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

/**
 * Position of the text of a query with attributes: `count lenenc | sets lenenc | parameters | text`. Throws PlatformError
 * `invalid`, also if the bytes end before the text.
 */
export function textAfterAttributes(bytes: Buffer): number {
  const reader = new Reader(bytes);
  const count = lenenc(reader);
  lenenc(reader);
  if (count === 0) return reader.position;
  const { complete } = readParameters(reader, { count, named: true, types: [], long: new Map() });
  if (!complete || reader.done) throw new PlatformError("invalid", "the attributes of a query are not complete");
  return reader.position;
}
