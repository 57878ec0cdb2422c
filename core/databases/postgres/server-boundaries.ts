/** `type byte | u32 length, itself included`. */
const headerBytes = 5;
const notice = 0x4e;
const error = 0x45;

/**
 * Where the messages of a server end, by their headers alone, however the bytes arrive: only there another message can be inserted. Before the first one stand the
 * bytes `N` with which a request for encryption is refused. A stream with lengths that no server sends has no ends any more.
 */
export class ServerBoundaries {
  readonly #header = Buffer.alloc(headerBytes);
  #held = 0;
  /** Bytes of the message that are still to come. */
  #left = 0;
  #hasBegun = false;

  /** Whether all that came so far are whole messages, the last of which is not an error: the server has not explained its end already. */
  get mayAdd(): boolean {
    if (this.#left > 0) return false;
    return this.#held === 0 ? this.#header[0] !== error : this.#isAnswer(1);
  }

  push(chunk: Buffer): void {
    let at = Math.min(this.#left, chunk.length);
    this.#left -= at;
    while (at < chunk.length) {
      const end = this.#held === 0 ? at + headerBytes : 0;
      if (end > 0 && end <= chunk.length && this.#hasBegun) {
        // The usual case: all of the header is in this chunk.
        this.#header[0] = chunk[at] ?? 0;
        this.#left = chunk.readUInt32BE(at + 1) - 4;
        at = end;
      } else at = this.#hold(chunk, at);
      if (this.#left < 0) this.#left = Number.POSITIVE_INFINITY;
      const step = Math.min(this.#left, chunk.length - at);
      this.#left -= step;
      at += step;
    }
  }

  /** Takes one byte of a header. Returns the place of the next one. */
  #hold(chunk: Buffer, at: number): number {
    this.#header[this.#held] = chunk[at] ?? 0;
    this.#held += 1;
    if (this.#isAnswer(2)) {
      this.#header[0] = this.#header[1] ?? 0;
      this.#held = 1;
    }
    if (this.#held < headerBytes) return at + 1;
    this.#held = 0;
    this.#hasBegun = true;
    this.#left = this.#header.readUInt32BE(1) - 4;
    return at + 1;
  }

  /** Whether the held bytes begin with a lone `N`. A notice has a length behind it, whose first byte is 0. */
  #isAnswer(held: number): boolean {
    return !this.#hasBegun && this.#held === held && this.#header[0] === notice && (held === 1 || this.#header[1] !== 0);
  }
}
