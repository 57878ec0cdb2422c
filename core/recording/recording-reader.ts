import { type CastLine, maxCastLine, parseCastLine } from "./cast.ts";
import { type MemberItem, MemberReader } from "./member.ts";

/** A line of a recording, or damage: something is missing here. */
export type RecordingItem = CastLine | { readonly damage: true };

/**
 * Reads a recording in chunks: compressed as an agent writes it, or plain asciicast. Damaged and truncated ones are read as far as
 * they are intact. Memory is bounded; never throws.
 */
export class RecordingReader {
  #source: MemberReader | "plain" | undefined;
  readonly #lines = new LineReader();

  push(chunk: Buffer): RecordingItem[] {
    if (chunk.length === 0) return [];
    this.#source ??= chunk[0] === 0x7b ? "plain" : new MemberReader();
    if (this.#source === "plain") return this.#lines.take(chunk);
    return this.#source.push(chunk).flatMap((item) => this.#read(item));
  }

  end(): RecordingItem[] {
    const items = this.#source instanceof MemberReader ? this.#source.end().flatMap((item) => this.#read(item)) : [];
    return [...items, ...this.#lines.end()];
  }

  #read(item: MemberItem): RecordingItem[] {
    if ("text" in item) return this.#lines.take(item.text);
    this.#lines.drop();
    return [item];
  }
}

class LineReader {
  #held: Buffer = Buffer.alloc(0);
  #isTooLong = false;

  take(text: Buffer): RecordingItem[] {
    const items: RecordingItem[] = [];
    let from = 0;
    for (let at = text.indexOf(0x0a); at >= 0; at = text.indexOf(0x0a, from)) {
      const line = Buffer.concat([this.#held, text.subarray(from, at)]);
      if (!this.#isTooLong && line.length > 0) items.push(itemOf(line));
      this.drop();
      from = at + 1;
    }
    if (!this.#isTooLong) this.#held = Buffer.concat([this.#held, text.subarray(from)]);
    if (this.#held.length > maxCastLine) {
      items.push({ damage: true });
      this.#held = Buffer.alloc(0);
      this.#isTooLong = true;
    }
    return items;
  }

  /** The last line of a plain file may lack its end. */
  end(): RecordingItem[] {
    const line = this.#held;
    this.drop();
    return line.length === 0 ? [] : [itemOf(line)];
  }

  drop(): void {
    this.#held = Buffer.alloc(0);
    this.#isTooLong = false;
  }
}

function itemOf(line: Buffer): RecordingItem {
  return (line.length <= maxCastLine ? parseCastLine(line.toString("utf8")) : undefined) ?? { damage: true };
}
