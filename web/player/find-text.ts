import { readCastLine } from "./cast-line.ts";
import { readLines } from "./read-lines.ts";
import type { RecordingSource } from "./recording-source.ts";
import { type Hit, TextSearch } from "./text-search.ts";

/** Maximum number of places that a search shows. */
export const maxHits = 200;

export interface Search {
  readonly hits: readonly Hit[];
  /** Seconds of the recording that are searched. */
  readonly until: number;
  readonly isDone: boolean;
}

/** Searches the recording of a terminal from its beginning; what is found so far, again and again. */
export async function* findText(
  source: RecordingSource,
  { wanted, signal }: { readonly wanted: string; readonly signal: AbortSignal },
): AsyncGenerator<Search> {
  const search = new TextSearch(wanted);
  const hits: Hit[] = [];
  let until = 0;
  for await (const { lines } of readLines(source, { from: 0, signal })) {
    for (const line of lines) {
      const cast = readCastLine(line);
      if (cast === undefined || !("text" in cast)) continue;
      until = Math.max(until, cast.time);
      hits.push(...search.push(cast.time, cast.text));
      if (hits.length >= maxHits) return yield { hits: hits.slice(0, maxHits), until, isDone: true };
    }
    yield { hits: [...hits], until, isDone: false };
  }
  yield { hits: [...hits, ...search.end()], until, isDone: true };
}
