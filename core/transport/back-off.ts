/** Delays between attempts, ms: full jitter ("Exponential Backoff And Jitter", AWS architecture blog): random in [0, cap of this try). */
export interface BackOffOptions {
  readonly baseMs?: number;
  readonly capMs?: number;
}

/** Lifetime after which the next failure counts as the first one again, ms. */
export const stableMs = 60_000;

/**
 * Delay before the attempt after `failures` failures in a row (1 = after the first). `random` is in [0, 1).
 * Default: base 0.5 s, doubled with each failure, never more than 30 s.
 */
export function backOffDelay(failures: number, random: number, options: BackOffOptions = {}): number {
  const { baseMs = 500, capMs = 30_000 } = options;
  if (failures <= 0) return 0;
  const ceiling = Math.min(capMs, baseMs * 2 ** Math.min(failures, 30));
  return Math.floor(random * ceiling);
}

/** Failures in a row, once something that lived `livedMs` has ended. */
export function failuresAfter(failures: number, livedMs: number): number {
  return livedMs >= stableMs ? 1 : failures + 1;
}
