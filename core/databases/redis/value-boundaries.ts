import { type Aggregate, OpenValues } from "./open-values.ts";
import { OpeningWords } from "./opening-words.ts";

/** Deepest nesting that is followed. Scripts reach some hundreds. */
const maxDepth = 1_000;
/** Digits of a length, at most: those of safe integers. */
const maxDigits = 15;

/** What follows a type: the rest of a line, or a length and then a text, or elements. */
type Shape = "line" | Sized;
type Sized = "text" | Aggregate;

/** By the first byte of a value. */
export const valueShapes: ReadonlyMap<number, Shape> = new Map<number, Shape>(
  Object.entries({ line: "+-:_,#(", text: "$!=", list: "*~>", map: "%", attribute: "|" }).flatMap(([shape, types]) =>
    Array.from(types, (type) => [type.charCodeAt(0), shape as Shape] as const),
  ),
);
const [minus, zero, cr, lf] = [0x2d, 0x30, 0x0d, 0x0a] as const;
const [error, push] = ["-".charCodeAt(0), ">".charCodeAt(0)] as const;

/**
 * Where the values of RESP2 and RESP3 end that one side sends, replies or commands, by their headers alone, however the bytes arrive. What is not RESP, or is nested
 * too deeply, is not followed any further.
 */
export class ValueBoundaries {
  /** Undefined: these are replies. */
  readonly #opening: OpeningWords | undefined;
  readonly #open = new OpenValues(maxDepth);
  /** Bytes of a text that are still to come, its CR LF included. */
  #left = 0;
  #inLine = false;
  /** Of a length that is being read. */
  #shape: Sized | undefined;
  #digits = 0;
  #number = 0;
  #isNull = false;
  /** The first byte of the latest value. */
  #type = 0;
  #isLost = false;
  #count = 0;
  #isCounted = true;

  /** `isCommands`: the client's, among which lines of text may be. */
  constructor(isCommands = false) {
    if (isCommands) this.#opening = new OpeningWords();
  }

  /** Whether all that came so far are whole values. */
  get atBoundary(): boolean {
    return !this.#isLost && this.#open.isEmpty;
  }

  /** Number of whole values, without those that a server sends unasked (pushes of RESP3). */
  get count(): number {
    return this.#count;
  }

  /** Whether the latest value is an error. */
  get isError(): boolean {
    return this.#type === error;
  }

  /** Whether each of the commands so far has one reply. */
  get isCounted(): boolean {
    return this.#isCounted;
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && !this.#isLost; ) {
      if (this.#left > 0) {
        const step = Math.min(this.#left, chunk.length - at);
        this.#left -= step;
        this.#opening?.add(chunk.subarray(at, at + step));
        at += step;
        if (this.#left === 0) this.#completed();
      } else if (this.#inLine) {
        const end = chunk.indexOf(lf, at);
        const next = end < 0 ? chunk.length : end + 1;
        this.#opening?.add(chunk.subarray(at, next));
        at = next;
        if (end >= 0) this.#endOfLine();
      } else {
        const byte = chunk[at] ?? 0;
        at += 1;
        if (this.#shape === undefined) this.#begin(byte);
        else this.#readLength(this.#shape, byte);
      }
    }
  }

  #begin(type: number): void {
    const isFirst = this.#open.isEmpty;
    const shape = valueShapes.get(type);
    if (isFirst && this.#opening !== undefined && shape !== "list") {
      // The server reads over empty lines.
      if (type === cr || type === lf) return;
      this.#opening.begin(true);
      this.#opening.add(Buffer.of(type));
      this.#open.begin();
      this.#inLine = true;
      return;
    }
    if (isFirst) {
      this.#open.begin();
      this.#type = type;
      this.#opening?.begin(false);
    }
    if (shape === undefined) this.#isLost = true;
    else if (shape === "line") this.#inLine = true;
    else this.#shape = shape;
  }

  #endOfLine(): void {
    this.#inLine = false;
    this.#completed();
  }

  #readLength(shape: Sized, byte: number): void {
    if (byte === lf) {
      const length = this.#isNull ? -1 : this.#number;
      [this.#shape, this.#digits, this.#number, this.#isNull] = [undefined, 0, 0, false];
      if (shape === "text") this.#text(length);
      else this.#elements(shape, length);
    } else if (byte === minus && this.#digits === 0 && !this.#isNull) this.#isNull = true;
    else if (byte !== cr) {
      const digit = byte - zero;
      this.#digits += 1;
      this.#number = this.#number * 10 + digit;
      if (digit < 0 || digit > 9 || this.#digits > maxDigits) this.#isLost = true;
    }
  }

  #text(length: number): void {
    this.#opening?.beginWord();
    if (length < 0) this.#completed();
    else this.#left = length + 2;
  }

  #elements(shape: Aggregate, length: number): void {
    const added = this.#open.add(shape, length);
    if (added === "empty") this.#completed();
    else if (added === "too deep") this.#isLost = true;
  }

  /** An element is complete, and with it maybe those around it. */
  #completed(): void {
    if (!this.#open.complete()) return;
    if (this.#type !== push) this.#count += 1;
    if (this.#opening?.isCounted === false) this.#isCounted = false;
  }
}
