/** Unanswered requests of one file, and their first failure. */
export class UnderWay {
  #count = 0;
  #whenIdle: (() => void) | undefined;
  failure: Error | undefined;

  begin(): void {
    this.#count += 1;
  }

  end(failure?: Error): void {
    this.#count -= 1;
    this.failure ??= failure;
    if (this.#count === 0) this.#whenIdle?.();
  }

  /** Waits for all answers. Throws the first failure. */
  async settle(): Promise<void> {
    if (this.#count > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
    }
    if (this.failure !== undefined) throw this.failure;
  }
}
