import { readCastLine } from "./cast-line.ts";
import { readLines } from "./read-lines.ts";
import type { RecordingSource } from "./recording-source.ts";

/** A line of a terminal in which a text was found. */
export interface Hit {
  /** When it was there, s. */
  readonly time: number;
  readonly line: string;
}

/** Longest line, and longest unfinished escape sequence, characters. */
const [maxLine, maxEscape] = [2_000, 4_096];

/** CSI, OSC and its kin (ended by BEL or ST), or any other escape (ECMA-48). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this looks for
const sequences = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|[ -/]*[0-OQ-WYZ\\`-~])/g;
/** One that has only begun. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this looks for
const unfinished = /\u001b(?:\[[0-?]*[ -/]*|[\]PX^_][^\u0007\u001b]*\u001b?|[ -/]*)$/;

/** The escape sequence that has only begun at the end of a text; empty: none. Pure. */
export function unfinishedEscape(text: string): string {
  return unfinished.exec(text.slice(-maxEscape))?.[0] ?? "";
}

/** Searches a text, in any case, in the lines that a terminal showed; escape sequences are left out. Memory is bounded. */
export class TextSearch {
  readonly #wanted: string;
  #held = "";
  #line = "";
  #foundAt: number | undefined;

  constructor(wanted: string) {
    this.#wanted = wanted.toLowerCase();
  }

  /** The lines that end here, and have it. */
  push(time: number, text: string): readonly Hit[] {
    const all = this.#held + text;
    this.#held = unfinishedEscape(all);
    const shown = all.slice(0, all.length - this.#held.length).replaceAll(sequences, "");
    const [first = "", ...others] = shown.split(/\r*\n|\r+/);
    const hits = [...this.#append(time, first)];
    for (const part of others) hits.push(...this.#end(), ...this.#append(time, part));
    return hits;
  }

  /** The line that has no end. */
  end(): readonly Hit[] {
    return this.#end();
  }

  #append(time: number, part: string): readonly Hit[] {
    const hits: Hit[] = [];
    let rest = part;
    do {
      this.#line = edited(this.#line + rest.slice(0, maxLine));
      rest = rest.slice(maxLine);
      if (this.#foundAt === undefined && this.#line.toLowerCase().includes(this.#wanted)) this.#foundAt = time;
      if (this.#line.length >= maxLine) hits.push(...this.#end());
    } while (rest !== "");
    return hits;
  }

  #end(): readonly Hit[] {
    const [line, time] = [this.#line, this.#foundAt];
    this.#line = "";
    this.#foundAt = undefined;
    return time === undefined ? [] : [{ time, line: line.trim() }];
  }
}

/** Without control characters; a backspace takes back a character. */
function edited(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this looks for
  if (!/[\u0000-\u001f\u007f]/.test(text)) return text;
  let line = "";
  for (const character of text) {
    if (character === "\b") line = line.slice(0, -1);
    else if (character === "\t" || (character >= " " && character !== "\u007f")) line += character;
  }
  return line;
}

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
