/** Counts what is in use and may not exceed a limit. Those of a connection take one of the agent's too. */
export class Slots {
  readonly #limit: number;
  readonly #all: Slots | undefined;
  #used = 0;

  constructor(limit: number, all?: Slots) {
    this.#limit = limit;
    this.#all = all;
  }

  get used(): number {
    return this.#used;
  }

  /** Gives it back, once; undefined when there is none left. */
  take(): (() => void) | undefined {
    if (this.#used >= this.#limit) return undefined;
    const release = this.#all?.take();
    if (this.#all !== undefined && release === undefined) return undefined;
    this.#used += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#used -= 1;
      release?.();
    };
  }
}
