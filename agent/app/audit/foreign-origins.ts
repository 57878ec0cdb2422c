/** Interval of the events about one user's browser at one application, ms. */
const everyMs = 60_000;
/** Maximum number of pairs of user and application that are kept; the one that was recorded first is forgotten first. */
const usualMost = 2_000;

interface Recorded {
  readonly at: number;
  /** Refusals since then. */
  more: number;
}

/** Refused pages of other sites: any page can cause thousands in a user's browser, so that one a minute of each user and application becomes an event. */
export class ForeignOrigins {
  readonly #most: number;
  readonly #recorded = new Map<string, Recorded>();

  constructor({ most = usualMost }: { readonly most?: number } = {}) {
    this.#most = most;
  }

  /** Whether this refusal becomes an event: then the number of those since the last event, which did not; else undefined. */
  take(user: string, app: string, now: Date): number | undefined {
    const key = JSON.stringify([user, app]);
    const last = this.#recorded.get(key);
    const age = now.getTime() - (last?.at ?? Number.NEGATIVE_INFINITY);
    // A clock set back starts again.
    if (last !== undefined && age >= 0 && age < everyMs) {
      last.more += 1;
      return undefined;
    }
    this.#recorded.delete(key);
    this.#recorded.set(key, { at: now.getTime(), more: 0 });
    for (const oldest of this.#recorded.keys()) {
      if (this.#recorded.size <= this.#most) break;
      this.#recorded.delete(oldest);
    }
    return last?.more ?? 0;
  }
}
