import { HeldBytes } from "./held-bytes.ts";

/**
 * Writes one piece at a time, and what comes meanwhile as the next one. A queue of small pieces takes a hundred times the bytes that are in them: here they wait
 * in one buffer. The caller bounds `length`.
 */
export class GatheringWriter {
  readonly #write: (bytes: Buffer, done: () => void) => void;
  readonly #waiting = new HeldBytes();
  /** Pieces under way, and their bytes. */
  #pieces = 0;
  #bytes = 0;

  /** `write` calls `done` once the connection has taken the piece, or never will. */
  constructor(write: (bytes: Buffer, done: () => void) => void) {
    this.#write = write;
  }

  /** Bytes that the connection has not taken yet. */
  get length(): number {
    return this.#waiting.length + this.#bytes;
  }

  /** The piece must not change afterwards. */
  add(piece: Buffer): void {
    this.#waiting.add(piece);
    if (this.#pieces === 0) this.flush();
  }

  /** Writes at once what waits for the piece before it: nothing more comes. */
  flush(): void {
    if (this.#waiting.length === 0) return;
    const bytes = this.#waiting.take();
    this.#pieces += 1;
    this.#bytes += bytes.length;
    this.#write(bytes, () => {
      this.#pieces -= 1;
      this.#bytes -= bytes.length;
      if (this.#pieces === 0) this.flush();
    });
  }
}
