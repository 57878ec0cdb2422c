/** Bytes in flight that all files of one copy share. A request beyond the budget waits, first come, first served. */
export class ByteBudget {
  #free: number;
  readonly #waiting: { readonly count: number; readonly go: () => void }[] = [];

  constructor(bytes: number) {
    this.#free = bytes;
  }

  /** Undefined: granted at once. A piece must not exceed the whole budget. */
  take(count: number): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#free >= count) {
      this.#free -= count;
      return undefined;
    }
    return new Promise((go) => this.#waiting.push({ count, go }));
  }

  give(count: number): void {
    this.#free += count;
    for (let first = this.#waiting[0]; first !== undefined && first.count <= this.#free; first = this.#waiting[0]) {
      this.#waiting.shift();
      this.#free -= first.count;
      first.go();
    }
  }
}
