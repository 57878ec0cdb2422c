const nothing: Buffer = Buffer.alloc(0);
const smallest = 1_024;

/**
 * Bytes that wait until there are enough of them for a decision. A peer may send them one by one: they are collected in one buffer that grows by
 * doubling, so that neither the pieces nor the copying of what is there already add up.
 */
export class HeldBytes {
  #buffer: Buffer = nothing;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** What is held, valid until the next `add`: no copy. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Adds a piece: the first as it is, others copied. `needed`: at most as many bytes are going to be held, if that is known. */
  add(piece: Buffer, needed = Number.POSITIVE_INFINITY): void {
    const length = this.#length + piece.length;
    if (this.#length === 0) {
      this.#buffer = piece;
      this.#length = length;
      return;
    }
    if (length > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(length, Math.min(needed, Math.max(smallest, 2 * length))));
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    piece.copy(this.#buffer, this.#length);
    this.#length = length;
  }

  /** Hands over what is held, and begins again. */
  take(): Buffer {
    const { bytes } = this;
    this.#buffer = nothing;
    this.#length = 0;
    return bytes;
  }
}
