/** `make test-long`: what proves by repetition runs in full. */
export const long = process.env.TEST_LONG === "1";

/** How often such a story repeats: `full` times in `make test-long`, `once` in `make test`. */
export function rounds(full: number, once: number): number {
  return long ? full : once;
}
