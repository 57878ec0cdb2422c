export interface Rate {
  /** Maximum at once. */
  readonly burst: number;
  /** Average. */
  readonly perSecond: number;
}

/** Admits calls at a limited rate: true for one that may go on. `clock`: monotonic milliseconds. */
export function limitedRate({ burst, perSecond }: Rate, clock: () => number = () => performance.now()): () => boolean {
  let left = burst;
  let at = clock();
  return () => {
    const now = clock();
    left = Math.min(burst, left + ((now - at) / 1000) * perSecond);
    at = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}
