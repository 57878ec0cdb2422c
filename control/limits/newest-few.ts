/** One of the few of its holder, for as long as the result lives. */
export interface Place extends Disposable {
  /** Aborted when its holder has begun too many newer ones. */
  readonly signal: AbortSignal;
}

/** What each holder may have only a few of at a time: a further one ends the oldest, whose other end may be gone without a word. */
export class NewestFew {
  readonly #most: number;
  /** In order of arrival. */
  readonly #holders = new Map<string, Set<AbortController>>();

  constructor(most: number) {
    this.#most = most;
  }

  enter(holder: string): Place {
    const own = this.#holders.get(holder) ?? new Set();
    const place = new AbortController();
    this.#holders.set(holder, own.add(place));
    const [oldest] = own;
    if (own.size > this.#most && oldest !== undefined) {
      own.delete(oldest);
      oldest.abort();
    }
    const leave = (): void => {
      own.delete(place);
      if (own.size === 0 && this.#holders.get(holder) === own) this.#holders.delete(holder);
    };
    return { signal: place.signal, [Symbol.dispose]: leave };
  }
}
