import { type MemberItem, MemberReader } from "./member.ts";

/** Longest line of a recording, bytes. */
export const maxLine = 1024 * 1024;

/** A line of a recording, or damage: something is missing here. */
export type RecordingItem<Line> = Line | { readonly damage: true };

/** One line of a format without its end; undefined when it is none. */
type ParseLine<Line> = (line: string) => Line | undefined;

/**
 * Reads a recording of lines in chunks: compressed as an agent writes it, or plain. Damaged and truncated ones are read as far as
 * they are intact. Memory is bounded; never throws.
 */
export class RecordingReader<Line> {
  #source: MemberReader | "plain" | undefined;
  /** The first byte, until there is a second one. */
  #start: Buffer = Buffer.alloc(0);
  readonly #lines: LineReader<Line>;

  constructor(parse: ParseLine<Line>) {
    this.#lines = new LineReader(parse);
  }

  push(chunk: Buffer): RecordingItem<Line>[] {
    if (this.#source !== undefined) return this.#take(this.#source, chunk);
    this.#start = Buffer.concat([this.#start, chunk]);
    if (this.#start.length < 2) return [];
    // One damaged bit of a compressed recording can make its first byte a brace; its second one is 8b.
    this.#source = this.#start[0] === 0x7b && this.#start[1] !== 0x8b ? "plain" : new MemberReader();
    return this.#take(this.#source, this.#start);
  }

  end(): RecordingItem<Line>[] {
    if (this.#source === undefined) this.#lines.take(this.#start);
    const items = this.#source instanceof MemberReader ? this.#source.end().flatMap((item) => this.#read(item)) : [];
    return [...items, ...this.#lines.end()];
  }

  #take(source: MemberReader | "plain", chunk: Buffer): RecordingItem<Line>[] {
    return source === "plain" ? this.#lines.take(chunk) : source.push(chunk).flatMap((item) => this.#read(item));
  }

  #read(item: MemberItem): RecordingItem<Line>[] {
    if ("text" in item) return this.#lines.take(item.text);
    this.#lines.drop();
    return [item];
  }
}

class LineReader<Line> {
  readonly #parse: ParseLine<Line>;
  #held: Buffer = Buffer.alloc(0);
  #isTooLong = false;

  constructor(parse: ParseLine<Line>) {
    this.#parse = parse;
  }

  take(text: Buffer): RecordingItem<Line>[] {
    const items: RecordingItem<Line>[] = [];
    let from = 0;
    for (let at = text.indexOf(0x0a); at >= 0; at = text.indexOf(0x0a, from)) {
      const line = Buffer.concat([this.#held, text.subarray(from, at)]);
      if (!this.#isTooLong && line.length > 0) items.push(this.#itemOf(line));
      this.drop();
      from = at + 1;
    }
    if (!this.#isTooLong) this.#held = Buffer.concat([this.#held, text.subarray(from)]);
    if (this.#held.length > maxLine) {
      items.push({ damage: true });
      this.#held = Buffer.alloc(0);
      this.#isTooLong = true;
    }
    return items;
  }

  /** The last line of a plain file may lack its end. */
  end(): RecordingItem<Line>[] {
    const line = this.#held;
    this.drop();
    return line.length === 0 ? [] : [this.#itemOf(line)];
  }

  drop(): void {
    this.#held = Buffer.alloc(0);
    this.#isTooLong = false;
  }

  #itemOf(line: Buffer): RecordingItem<Line> {
    return (line.length <= maxLine ? this.#parse(line.toString("utf8")) : undefined) ?? { damage: true };
  }
}
