import { type CastLine, type CastSize, readCastLine } from "./cast-line.ts";
import { type Lines, readLines } from "./read-lines.ts";
import type { RecordingSource } from "./recording-source.ts";

/** Maximum number of sizes of the terminal that are remembered. */
const maxSizes = 1_000;

/** Reads the lines of a terminal's recording from a place on, and hands them out by time. */
export class CastReader {
  readonly #source: RecordingSource;
  #reading: AbortController | undefined;
  #parts: AsyncGenerator<Lines> | undefined;
  /** Lines that are read and not taken yet, from `#at` on. */
  #lines: readonly CastLine[] = [];
  #at = 0;
  #end = 0;
  #isDamaged = false;
  readonly #sizes: { readonly time: number; readonly size: CastSize }[] = [];

  constructor(source: RecordingSource) {
    this.#source = source;
  }

  /** Offset after what is read; undefined before the first beginning. */
  get end(): number | undefined {
    return this.#parts && this.#end;
  }

  /** The next line that is read, which stays there. */
  get next(): CastLine | undefined {
    return this.#lines[this.#at];
  }

  /** Whether something was missing in any part that was read. */
  get isDamaged(): boolean {
    return this.#isDamaged;
  }

  /** Begins at the offset of a member; lines that are not taken are forgotten. */
  begin(from: number, stop: AbortSignal): void {
    this.#reading?.abort();
    this.#reading = new AbortController();
    this.#parts = readLines(this.#source, { from, signal: AbortSignal.any([stop, this.#reading.signal]) });
    [this.#lines, this.#at, this.#end] = [[], 0, from];
  }

  /** Reads the next part; false at the present end. All lines before it must be taken. */
  async more(): Promise<boolean> {
    const next = await this.#parts?.next();
    if (next === undefined || next.done === true) return false;
    const { lines, end, isDamaged } = next.value;
    this.#isDamaged ||= isDamaged;
    [this.#lines, this.#at, this.#end] = [lines.flatMap((line) => readCastLine(line) ?? []), 0, end];
    for (const line of this.#lines) if ("size" in line) this.#remember(line);
    return true;
  }

  /** Takes the next line that is read, if it is of this moment or before. */
  take(until: number): CastLine | undefined {
    const line = this.next;
    if (line === undefined || line.time > until) return undefined;
    this.#at += 1;
    return line;
  }

  /** Size of the terminal at a moment, as far as it was ever read. */
  sizeAt(moment: number): CastSize | undefined {
    return this.#sizes.findLast(({ time }) => time <= moment)?.size;
  }

  #remember({ time, size }: { readonly time: number; readonly size: CastSize }): void {
    const last = this.#sizes.at(-1);
    if ((last === undefined || time > last.time) && this.#sizes.length < maxSizes) this.#sizes.push({ time, size });
  }
}
