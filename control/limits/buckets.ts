/** Tokens that a bucket gains per second, and its maximum. */
export interface BucketSize {
  readonly perSecond: number;
  readonly burst: number;
}

interface Filled {
  readonly left: readonly number[];
  readonly at: number;
}

/** Maximum number of owners; the least recently used one is forgotten first, which gives it full buckets. */
const maxOwners = 100_000;

/** Several buckets for each owner, from which amounts are taken atomically. */
export class Buckets {
  readonly #sizes: readonly BucketSize[];
  readonly #owners = new Map<string, Filled>();

  constructor(...sizes: readonly BucketSize[]) {
    this.#sizes = sizes;
  }

  /** `amounts` are in the order of the sizes. Returns false, and takes nothing, when one of the buckets holds too little. */
  take(owner: string, amounts: readonly number[], now: Date): boolean {
    const known = this.#owners.get(owner);
    const time = now.getTime();
    const seconds = known === undefined ? 0 : Math.max(0, time - known.at) / 1000;
    const full = this.#sizes.map(({ perSecond, burst }, index) => Math.min(burst, (known?.left[index] ?? burst) + seconds * perSecond));
    const left = full.map((one, index) => one - (amounts[index] ?? 0));
    const isEnough = left.every((one) => one >= 0);
    this.#owners.delete(owner);
    this.#owners.set(owner, { left: isEnough ? left : full, at: time });
    for (const first of this.#owners.keys()) {
      if (this.#owners.size <= maxOwners) break;
      this.#owners.delete(first);
    }
    return isEnough;
  }
}
