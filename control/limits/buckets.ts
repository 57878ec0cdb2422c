/** Tokens that a bucket gains per second, and its maximum. */
export interface BucketSize {
  readonly perSecond: number;
  readonly burst: number;
}

interface Filled {
  readonly left: readonly number[];
  readonly at: number;
}

/** Default maximum number of owners; the least recently used one is forgotten first, which gives it full buckets. */
const usualOwners = 100_000;

/** Several buckets for each owner, from which amounts are taken atomically. */
export class Buckets {
  readonly #sizes: readonly BucketSize[];
  readonly #owners = new Map<string, Filled>();
  #maxOwners = usualOwners;

  constructor(...sizes: readonly BucketSize[]) {
    this.#sizes = sizes;
  }

  /** For at most this number of owners. */
  static ofAtMost(maxOwners: number, ...sizes: readonly BucketSize[]): Buckets {
    const buckets = new Buckets(...sizes);
    buckets.#maxOwners = maxOwners;
    return buckets;
  }

  /** `amounts` are in the order of the sizes. Returns false, and takes nothing, when one of the buckets holds too little. */
  take(owner: string, amounts: readonly number[], now: Date): boolean {
    const full = this.#filled(owner, now);
    const left = full.map((one, index) => one - (amounts[index] ?? 0));
    const isEnough = left.every((one) => one >= 0);
    this.#owners.delete(owner);
    this.#owners.set(owner, { left: isEnough ? left : full, at: now.getTime() });
    for (const first of this.#owners.keys()) {
      if (this.#owners.size <= this.#maxOwners) break;
      this.#owners.delete(first);
    }
    return isEnough;
  }

  /** Whether `take` would take these amounts. */
  has(owner: string, amounts: readonly number[], now: Date): boolean {
    return this.#filled(owner, now).every((one, index) => one >= (amounts[index] ?? 0));
  }

  #filled(owner: string, now: Date): readonly number[] {
    const known = this.#owners.get(owner);
    const seconds = known === undefined ? 0 : Math.max(0, now.getTime() - known.at) / 1000;
    return this.#sizes.map(({ perSecond, burst }, index) => Math.min(burst, (known?.left[index] ?? burst) + seconds * perSecond));
  }
}
