/**
 * Times since which something has been seen, by this controller's monotonic clock alone. Times in objects come from clocks of nodes, of the API server and of
 * other controllers, which may be off by minutes: they only tell one state from the next. A controller that has just started has seen nothing for long yet.
 */
export class Sightings {
  readonly #steady: () => number;
  #seen: ReadonlyMap<string, number> = new Map();

  /** `steady`: a monotonic clock, ms. */
  constructor(steady: () => number) {
    this.#steady = steady;
  }

  /** Ages of all states that there are now, seconds, by their names. A state that is left out is forgotten. */
  ages(names: readonly string[]): ReadonlyMap<string, number> {
    const now = this.#steady();
    this.#seen = new Map(names.map((name) => [name, this.#seen.get(name) ?? now]));
    return new Map([...this.#seen].map(([name, since]) => [name, (now - since) / 1000]));
  }
}
