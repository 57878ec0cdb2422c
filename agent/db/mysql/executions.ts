import { Reader } from "../../../core/bytes/fields.ts";
import { maxParameters } from "../../../core/kinds/db/db-events.ts";
import { cappedValue } from "../capped-text.ts";
import type { DatabaseEvent } from "../engine.ts";
import { readValue } from "./binary-value.ts";
import { attributeText, readParameters } from "./parameters.ts";
import { numberOf, type Statement } from "./statements.ts";
import { lenenc, u16, u32 } from "./wire.ts";

/** The command of an execution, as much of it as was kept. */
export interface Execution {
  readonly body: Buffer;
  /** Its whole length. */
  readonly length: number;
  /** The server's number of the statement. */
  readonly number: number;
  readonly statement: Statement;
  /** Whether the session has query attributes. */
  readonly hasAttributes: boolean;
}

/** Flag: the command states a number of parameters although the statement has none. */
const countAvailable = 8;

/** `17 | statement u32 | flags u8 | 1 u32 | count lenenc (query attributes) | parameters`. */
export function executeEvent(execution: Execution): DatabaseEvent {
  const { number, statement } = execution;
  const values = valuesOf(execution);
  statement.long.clear();
  return {
    event: "db.session.mysql.statements.execute",
    ...numberOf(number, statement),
    statement: statement.text,
    ...(values && { parameters: [...values] }),
  };
}

/** Undefined: the server has not answered yet how many there are, or the command does not hold what its beginning promises; the server judges that. */
function valuesOf({ body, statement, hasAttributes }: Execution): readonly (string | null)[] | undefined {
  if (statement.prepared === undefined) return undefined;
  const reader = new Reader(body);
  try {
    reader.take(5);
    const flags = reader.u8();
    reader.take(4);
    const own = statement.prepared.parameters;
    const count = hasAttributes && (own > 0 || (flags & countAvailable) !== 0) ? lenenc(reader) : own;
    if (count === 0) return [];
    const bound = readParameters(reader, { count, named: hasAttributes, types: statement.types, long: statement.long });
    statement.types = bound.types;
    const { values, names } = bound;
    return values.map((value, index) => (index < own ? value : attributeText(names[index] ?? "", value)));
  } catch {
    return undefined;
  }
}

/** Flags of a bulk execution: types stand in the command. */
const typesFollow = 128;

/** MariaDB: `FA | statement u32 | flags u16 | type u16 for each parameter | rows`. */
export function bulkEvent(execution: Execution): DatabaseEvent {
  const { number, statement, length } = execution;
  return {
    event: "db.session.mysql.statements.bulk_execute",
    ...numberOf(number, statement),
    statement: statement.text,
    ...rowsOf(execution),
    data_size: length,
  };
}

interface BulkRows {
  readonly parameters?: (string | null)[];
  readonly rows_count?: number;
}

/** Undefined: as above, or the statement has no parameters. */
function rowsOf({ body, length, statement }: Execution): BulkRows | undefined {
  const count = statement.prepared?.parameters ?? 0;
  if (count === 0) return undefined;
  const reader = new Reader(body);
  let parameters: (string | null)[] | undefined;
  let rows = 0;
  try {
    reader.u8();
    u32(reader);
    const sent = (u16(reader) & typesFollow) !== 0;
    const types = sent ? Array.from({ length: count }, () => u16(reader)) : statement.types;
    statement.types = types.slice(0, maxParameters);
    for (; !reader.done; rows += 1) {
      const values = bulkRow(reader, count, types);
      parameters ??= values.slice(0, maxParameters);
    }
  } catch {
    // The server judges it; the rows before count for the parameters.
    rows = 0;
  }
  return { ...(parameters && { parameters }), ...(rows > 0 && body.length === length && { rows_count: rows }) };
}

/** Each value of a row: an indicator, then the value if it is 0; 1 is NULL, 2 the default, 3 none. */
function bulkRow(reader: Reader, count: number, types: readonly number[]): (string | null)[] {
  return Array.from({ length: count }, (_none, index) => (reader.u8() === 0 ? readValue(reader, types[index] ?? 6) : null));
}

/** The beginning of a statement's text, for the events of its executions. */
export function shownStatement(text: Buffer): string {
  return cappedValue(text.subarray(0, 1_024).toString("utf8").slice(0, 260));
}
