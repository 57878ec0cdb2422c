/** Maximum separate pieces: a terminal that shows single characters must not cost a buffer for each. */
const mostPieces = 512;

/** The newest bytes of a terminal's output, up to a limit. */
export class ScrollBack {
  readonly #most: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #isCut = false;

  constructor(most = 64 * 1024) {
    this.#most = most;
  }

  add(chunk: Buffer): void {
    // A copy: the chunk may be a small part of a large buffer.
    this.#pieces.push(Buffer.from(chunk.subarray(-this.#most)));
    this.#bytes += Math.min(chunk.length, this.#most);
    this.#isCut ||= chunk.length > this.#most;
    if (this.#bytes > this.#most || this.#pieces.length > mostPieces) this.#compact();
  }

  /** Starts at the beginning of a line when earlier output was dropped. */
  bytes(): Buffer {
    const all = Buffer.concat(this.#pieces);
    return this.#isCut ? all.subarray(all.indexOf(0x0a) + 1) : all;
  }

  /** Drops more than needed, so that not every byte moves the whole buffer. */
  #compact(): void {
    const all = Buffer.concat(this.#pieces);
    const isFull = all.length > this.#most;
    this.#isCut ||= isFull;
    this.#pieces = [isFull ? Buffer.from(all.subarray(-Math.ceil(this.#most * 0.75))) : all];
    this.#bytes = this.#pieces[0]?.length ?? 0;
  }
}
