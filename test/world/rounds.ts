/** `make test-long`: tests that prove by repetition run in full. */
export const long = process.env.TEST_LONG === "1";

/** How often such a story repeats: `full` times in `make test-long`, `once` in `make test`. */
export function rounds(full: number, once: number): number {
  return long ? full : once;
}

/** Of the rows of one case those that show all there is to it; all of them in `make test-long`. */
export function rows<const T>(all: readonly T[], telling: readonly NoInfer<T>[]): readonly T[] {
  return long ? all : telling;
}
