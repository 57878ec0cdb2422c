/** `length u24le | sequence u8`, before each payload. */
const headerBytes = 4;
/** A packet with a payload of this length goes on in the next one. */
const longest = 0xff_ffff;

/** Where the packets of one side end, by their headers and the first byte of each payload, however the bytes arrive. */
export class PacketBoundaries {
  readonly #header = Buffer.alloc(headerBytes);
  #held = 0;
  /** Bytes of the payload that are still to come. */
  #left = 0;
  /** Length of the latest payload, and its number. */
  #length = 0;
  #sequence: number | undefined;
  #isFirstByte = false;
  #firstByte: number | undefined;

  /** Whether all that came so far are whole messages: the last packet does not go on in another one. */
  get atBoundary(): boolean {
    return this.#held === 0 && this.#left === 0 && this.#length < longest;
  }

  /** Number of the latest packet, which need not be complete; undefined: there was none. */
  get sequence(): number | undefined {
    return this.#sequence;
  }

  /** First byte of the latest packet; undefined: it is empty, or has not come. */
  get firstByte(): number | undefined {
    return this.#firstByte;
  }

  /** Length of the latest packet's payload. */
  get length(): number {
    return this.#length;
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#left > 0) at = this.#skip(chunk, at);
      else if (this.#held === 0 && at + headerBytes <= chunk.length) {
        this.#begin(chunk, at);
        at += headerBytes;
      } else {
        this.#header[this.#held] = chunk[at] ?? 0;
        this.#held += 1;
        at += 1;
        if (this.#held === headerBytes) this.#begin(this.#header, 0);
      }
    }
  }

  #begin(bytes: Buffer, at: number): void {
    this.#held = 0;
    this.#length = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16);
    this.#left = this.#length;
    this.#sequence = bytes[at + 3] ?? 0;
    this.#firstByte = undefined;
    this.#isFirstByte = true;
  }

  #skip(chunk: Buffer, at: number): number {
    if (this.#isFirstByte) this.#firstByte = chunk[at];
    this.#isFirstByte = false;
    const step = Math.min(this.#left, chunk.length - at);
    this.#left -= step;
    return at + step;
  }
}
