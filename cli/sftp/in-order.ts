/** Reorders pieces that arrive in any order. It holds early pieces: at most as much as is requested at a time. */
export class InOrder {
  readonly #write: (data: Buffer, at: number) => void;
  readonly #early = new Map<number, Buffer>();
  #end: number;

  constructor(start: number, write: (data: Buffer, at: number) => void) {
    this.#end = start;
    this.#write = write;
  }

  /** Offset of the next byte. */
  get end(): number {
    return this.#end;
  }

  /** `data` is used at once or copied. */
  add(at: number, data: Buffer): void {
    if (at !== this.#end) {
      this.#early.set(at, Buffer.from(data));
      return;
    }
    this.#put(data);
    for (let next = this.#early.get(this.#end); next !== undefined; next = this.#early.get(this.#end)) {
      this.#early.delete(this.#end);
      this.#put(next);
    }
  }

  #put(data: Buffer): void {
    this.#write(data, this.#end);
    this.#end += data.length;
  }
}
