import { readLines } from "./read-lines.ts";
import type { RecordingSource } from "./recording-source.ts";
import type { RecordRow, RowReader } from "./statement-rows.ts";

/** Interval of looking for more of a session that goes on, ms. */
const followMs = 2_000;
/** Maximum number of rows that a page holds. */
export const maxRows = 20_000;

export interface Rows {
  readonly rows: readonly RecordRow[];
  /** All that there is has been read. */
  readonly isDone: boolean;
  /** There will be more. */
  readonly isRunning: boolean;
  readonly isDamaged: boolean;
  /** There are more than these. */
  readonly isFull: boolean;
}

export interface RowsAsk {
  readonly reader: RowReader;
  readonly signal: AbortSignal;
  /** Interval of looking for more of a session that goes on, ms. */
  readonly everyMs?: number;
}

/** The rows of a recording as they are read, again and again; of a session that goes on, until it ends. */
export async function* readRows(
  source: Pick<RecordingSource, "read" | "isRunning">,
  { reader, signal, everyMs = followMs }: RowsAsk,
): AsyncGenerator<Rows> {
  const rows = new Map<number, RecordRow>();
  let [isDamaged, drawn, from] = [false, 0, 0];
  const state = (isDone: boolean, isFull: boolean): Rows => ({ rows: [...rows.values()], isDone, isFull, isDamaged, isRunning: source.isRunning });
  /** Whether there was room for it. */
  const add = (line: string): boolean => {
    const row = reader.read(line);
    if (row === undefined) return true;
    if (rows.size >= maxRows && !rows.has(row.id)) return false;
    rows.set(row.id, row);
    return true;
  };
  for (;;) {
    const begin = from;
    for await (const part of readLines(source, { from, signal })) {
      isDamaged ||= part.isDamaged;
      from = part.end;
      if (!part.lines.every(add)) return yield state(true, true);
      // Drawing all rows again for each part would take longer the more there are.
      if (rows.size < 2 * drawn) continue;
      drawn = rows.size;
      yield state(false, false);
    }
    if (begin === 0 || from > begin || !source.isRunning) yield state(true, false);
    if (!source.isRunning) return;
    await pause(everyMs, signal);
  }
}

/** Rejects with the signal's reason. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", resolve);
  await promise;
  signal.removeEventListener("abort", resolve);
  clearTimeout(timer);
  signal.throwIfAborted();
}
