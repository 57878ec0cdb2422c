/** What a bucket gains in a second, and holds at most. */
export interface BucketSize {
  readonly perSecond: number;
  readonly burst: number;
}

interface Filled {
  readonly left: readonly number[];
  readonly at: number;
}

/** Owners remembered; beyond, the one unused for longest is forgotten, which gives it full buckets. */
const maxOwners = 100_000;

/** Buckets of several things for each owner, from which all is taken or nothing. */
export class Buckets {
  readonly #sizes: readonly BucketSize[];
  readonly #owners = new Map<string, Filled>();

  constructor(...sizes: readonly BucketSize[]) {
    this.#sizes = sizes;
  }

  /** `amounts` are in the order of the sizes. False, and nothing was taken: one of the buckets holds too little. */
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
