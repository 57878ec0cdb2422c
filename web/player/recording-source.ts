/** A part of a recording as the proxy answers it. */
export interface RecordingPart {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Whether there will be more. */
  readonly isRunning: boolean;
}

export interface PartAsk {
  readonly offset: number;
  readonly length: number;
  readonly signal: AbortSignal;
}

/** Size of a part, bytes: the first picture waits for one. */
const partBytes = 512 * 1024;
/** Maximum number of parts that are kept to go back without asking again. */
const maxKept = 64;

/** The compressed bytes of a recording, asked for in parts. Keeps some of them, so its memory does not depend on the recording's size. */
export class RecordingSource {
  readonly #ask: (ask: PartAsk) => Promise<RecordingPart>;
  /** Whole parts by their number, the one used last at the end. */
  readonly #kept = new Map<number, Uint8Array<ArrayBuffer>>();
  #isRunning = true;

  constructor(ask: (ask: PartAsk) => Promise<RecordingPart>) {
    this.#ask = ask;
  }

  /** Whether the session went on when the last part was read. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Bytes from an offset on: some of them; none at the present end. */
  async read(offset: number, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    const number = Math.floor(offset / partBytes);
    const begin = number * partBytes;
    const known = this.#kept.get(number);
    if (known !== undefined) {
      this.#keep(number, known);
      return known.subarray(offset - begin);
    }
    const { bytes, isRunning } = await this.#ask({ offset: begin, length: partBytes, signal });
    this.#isRunning = isRunning;
    // One that may still grow is asked for again.
    if (bytes.length === partBytes || (!isRunning && bytes.length > 0)) this.#keep(number, bytes);
    return bytes.subarray(Math.min(offset - begin, bytes.length));
  }

  #keep(number: number, bytes: Uint8Array<ArrayBuffer>): void {
    this.#kept.delete(number);
    this.#kept.set(number, bytes);
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size > maxKept) this.#kept.delete(oldest);
  }
}
