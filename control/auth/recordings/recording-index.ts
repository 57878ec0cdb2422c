import { bytesToMember, type MemberSketch, sketchMember } from "../../../core/recording/member.ts";

/** A place at which a part of a recording begins that can be read by itself. */
export interface RecordingPoint {
  /** Bytes from the beginning of the file. */
  readonly offset: number;
  /** Of the first line there, seconds. */
  readonly time: number;
  /** Length of the text up to the next point, bytes. */
  readonly text: number;
}

/** Least text between two points, bytes, while there are not too many of them. */
const firstStep = 256 * 1024;
/** Maximum number of points: where there would be more, they stand further apart. */
export const maxPoints = 4096;

/** Time at the beginning of a line of any format of recordings. */
const timeOfLine = /^(?:\[|\{(?:"(?:begin|end)":\d{1,16},)?"time":)(\d{1,12}(?:\.\d{1,12})?(?:e-\d{1,2})?)[,}]/;

/**
 * Index of a recording's file, made from its chunks in order. It reads the heads of members, and inflates the first bytes of those at points: its cost
 * depends on the file's size, whatever the texts are. Damaged parts are passed over. Holds no more than one member and one chunk.
 */
export class RecordingIndexer {
  #points: RecordingPoint[] = [];
  #held: Buffer = Buffer.alloc(0);
  #offset = 0;
  #step = firstStep;
  #time = 0;

  push(chunk: Buffer): void {
    let held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (let member = sketchMember(held); member !== "more"; member = sketchMember(held)) {
      const length = member?.length ?? bytesToMember(held);
      if (member !== undefined) this.#take(member);
      held = held.subarray(length);
      this.#offset += length;
    }
    this.#held = held;
  }

  points(): readonly RecordingPoint[] {
    return this.#points;
  }

  #take({ textLength: text, start }: MemberSketch): void {
    const last = this.#points.at(-1);
    if (last !== undefined && last.text < this.#step) {
      this.#points[this.#points.length - 1] = { ...last, text: last.text + text };
      return;
    }
    this.#time = Math.max(this.#time, Number(timeOfLine.exec(start())?.[1] ?? 0));
    this.#points.push({ offset: this.#offset, time: this.#time, text });
    if (this.#points.length > maxPoints) this.#thin();
  }

  /** Leaves every second point. */
  #thin(): void {
    this.#step *= 2;
    this.#points = this.#points.flatMap((point, at) => (at % 2 === 0 ? [{ ...point, text: point.text + (this.#points[at + 1]?.text ?? 0) }] : []));
  }
}
