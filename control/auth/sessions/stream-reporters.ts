/** Age after which a proxy's report does not count any more, ms; it reports every 20 s. */
const memoryMs = 60_000;

/** Proxies that report their streams: in memory. */
export class StreamReporters {
  readonly #reported = new Map<string, number>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  reported(proxy: string): void {
    const now = this.#now().getTime();
    for (const [id, at] of this.#reported) if (now - at > memoryMs) this.#reported.delete(id);
    this.#reported.set(proxy, now);
  }

  /** Whether there are proxies, and each of them has reported within a lease. */
  include(proxies: readonly string[]): boolean {
    const oldest = this.#now().getTime() - memoryMs;
    return proxies.length > 0 && proxies.every((id) => (this.#reported.get(id) ?? Number.NEGATIVE_INFINITY) >= oldest);
  }
}
