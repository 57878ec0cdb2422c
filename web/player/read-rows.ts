import { readLines } from "./read-lines.ts";
import type { RecordingSource } from "./recording-source.ts";
import type { RecordRow, RowReader } from "./statement-rows.ts";

/** Maximum number of rows that a page holds. */
export const maxRows = 20_000;

export interface Rows {
  readonly rows: readonly RecordRow[];
  readonly isDone: boolean;
  readonly isDamaged: boolean;
  /** There are more than these. */
  readonly isFull: boolean;
}

/** The rows of a recording as they are read, again and again. */
export async function* readRows(
  source: Pick<RecordingSource, "read">,
  { reader, signal }: { readonly reader: RowReader; readonly signal: AbortSignal },
): AsyncGenerator<Rows> {
  const rows = new Map<number, RecordRow>();
  let isDamaged = false;
  let drawn = 0;
  const state = (more: { readonly isDone: boolean; readonly isFull: boolean }): Rows => ({ rows: [...rows.values()], isDamaged, ...more });
  for await (const part of readLines(source, { from: 0, signal })) {
    isDamaged ||= part.isDamaged;
    for (const line of part.lines) {
      const row = reader.read(line);
      if (row === undefined) continue;
      if (rows.size >= maxRows && !rows.has(row.id)) return yield state({ isDone: true, isFull: true });
      rows.set(row.id, row);
    }
    // Drawing all rows again for each part would take longer the more there are.
    if (rows.size >= 2 * drawn) {
      drawn = rows.size;
      yield state({ isDone: false, isFull: false });
    }
  }
  yield state({ isDone: true, isFull: false });
}
