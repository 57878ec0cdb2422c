/** Streams of users while their bytes are relayed: a stop of the proxy waits for them, and slow work waits until there are none. */
export class RelayedStreams {
  readonly #open = new Set<Promise<void>>();
  readonly #ended: () => void;

  /** `ended` is called as each stream ends. */
  constructor(ended: () => void) {
    this.#ended = ended;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Counts a stream until its promise settles. */
  add(stream: Promise<void>): void {
    const settled = stream.catch(() => {});
    this.#open.add(settled);
    void settled.then(() => {
      this.#open.delete(settled);
      this.#ended();
    });
  }

  /** Resolves once all streams that are open now have ended. */
  async closed(): Promise<void> {
    await Promise.all(this.#open);
  }
}
