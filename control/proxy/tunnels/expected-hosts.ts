import { canonicalName, namesMeant } from "../../../core/identity/cluster-names.ts";

/** A host as its tunnel is looked up: by id or name. */
export interface HostNames {
  readonly id: string;
  readonly names: readonly string[];
}

/** Maximum wait for an expected host, ms. */
const arrivalMs = 20_000;
/** Time in which a host that has just arrived says what it offers, ms. */
const offerMs = 2_000;

/**
 * Hosts that are expected: they had a tunnel in the previous process and were sent here, or they are just being authenticated.
 * A request for one of them waits for it, instead of failing with "not found".
 */
export class ExpectedHosts {
  readonly #missing = new Set<string>();
  /** Name in canonical spelling, or id → ids. */
  readonly #ids = new Map<string, string[]>();
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #lastArrival = Number.NEGATIVE_INFINITY;

  /** Whether any is missing, or has arrived only a moment ago: what nobody offers may be offered soon. */
  get areComing(): boolean {
    return this.#missing.size > 0 || performance.now() - this.#lastArrival < offerMs;
  }

  expect(hosts: readonly HostNames[]): void {
    for (const { id, names } of hosts) {
      this.#missing.add(id);
      for (const name of [id, ...names].map(canonicalName)) this.#ids.set(name, [...(this.#ids.get(name) ?? []), id]);
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#forget(), arrivalMs).unref();
  }

  arrived(id: string): void {
    if (!this.#missing.delete(id)) return;
    this.#lastArrival = performance.now();
    if (this.#missing.size === 0) this.#forget();
    else this.#wake();
  }

  /** Resolves once every host that matches the target is here, or its time is over. Several may share a name. */
  async settled(target: string, cluster: string): Promise<void> {
    const meant = namesMeant(target, cluster);
    const isMissing = (): boolean => meant.some((name) => this.#ids.get(name)?.some((id) => this.#missing.has(id)) === true);
    while (isMissing()) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.#missing.clear();
    this.#ids.clear();
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
