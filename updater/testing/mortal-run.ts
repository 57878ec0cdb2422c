/** The process was killed. */
class Killed extends Error {}

/** The updater's process, which can be killed at its n-th effect, also in the middle of it: from then on its actions have no effect. */
export class MortalRun {
  /** Effects and messages of all runs. */
  readonly log: string[] = [];
  #killAfter = Number.POSITIVE_INFINITY;
  #effects = 0;
  #dead = false;

  get killed(): boolean {
    return this.#dead;
  }

  /** The next run; it is killed at its effect number `killAfter`, counted from 1. */
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

  /** A point where it may be killed. */
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
