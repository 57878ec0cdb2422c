/** Time for which a proxy's report counts, ms: it repeats it every ten seconds. */
const liveMs = 30_000;
/** Maximum number of remembered revisions: the auth service notifies proxies one after the other, and they repeat what they know. */
const maxSeen = 32;

/** Changes of the cluster's resources that services may offer, as proxies report them. */
export class ResourceNews {
  readonly #steady: () => number;
  readonly #listeners = new Set<() => void>();
  readonly #seen = new Set<string>();
  #announcedAt = Number.NEGATIVE_INFINITY;

  /** `steady`: monotonic milliseconds. */
  constructor(steady: () => number = () => performance.now()) {
    this.#steady = steady;
  }

  /** A proxy reports the revision of the resources; only one that was not reported before is news. */
  announced(revision: string): void {
    this.#announcedAt = this.#steady();
    if (this.#seen.has(revision)) return;
    this.#seen.add(revision);
    for (const oldest of this.#seen) {
      if (this.#seen.size <= maxSeen) break;
      this.#seen.delete(oldest);
    }
    for (const listener of this.#listeners) listener();
  }

  /** Whether changes are reported now: a proxy of the version before does not, nor does one that has lost the auth service. */
  isLive(): boolean {
    return this.#steady() - this.#announcedAt < liveMs;
  }

  /** Called when something may have changed, until the signal. */
  onNews(listener: () => void, signal: AbortSignal): void {
    this.#listeners.add(listener);
    signal.addEventListener("abort", () => this.#listeners.delete(listener), { once: true });
  }
}
