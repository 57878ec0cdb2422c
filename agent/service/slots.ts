/** Counts used slots up to a limit. A slot of a connection takes one of the agent's too. */
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

  /** Takes a slot and returns the function that releases it once; undefined when none is left. */
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
