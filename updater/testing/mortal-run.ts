/** The process was killed. */
class Killed extends Error {}

/** The updater's process, which can be killed at its n-th effect, in the middle of it too: from then on nothing that it does has an effect. */
export class MortalRun {
  /** What had an effect, and what was said, of all runs. */
  readonly log: string[] = [];
  #killAfter = Number.POSITIVE_INFINITY;
  #effects = 0;
  #dead = false;

  get killed(): boolean {
    return this.#dead;
  }

  /** The next one; it is killed at its effect number `killAfter`, counted from 1. */
  begin(killAfter: number): void {
    this.#killAfter = killAfter;
    this.#effects = 0;
    this.#dead = false;
  }

  async effect(what: string, apply: () => unknown): Promise<void> {
    this.point();
    await Promise.resolve();
    apply();
    this.log.push(what);
    this.point();
  }

  /** A place where it may be killed. */
  point(): void {
    this.#effects += 1;
    if (this.#effects >= this.#killAfter) this.#dead = true;
    this.alive();
  }

  /** Throws when it was killed. */
  alive(): void {
    if (this.#dead) throw new Killed("killed");
  }
}
