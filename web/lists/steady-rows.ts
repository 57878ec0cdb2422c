export interface SteadyRows<Row> {
  /** The rows of before, each as it is now. */
  readonly rows: readonly Row[];
  /** Keys of those that are no longer there. */
  readonly gone: ReadonlySet<string>;
  /** Number of rows that have come since. */
  readonly fresh: number;
}

/** The rows that a reader is looking at, which stay where they are: none comes, none goes. Pure. */
export function steadyRows<Row>(before: readonly Row[], now: readonly Row[], keyOf: (row: Row) => string): SteadyRows<Row> {
  const present = new Map(now.map((row) => [keyOf(row), row]));
  const keys = before.map(keyOf);
  const known = new Set(keys);
  return {
    rows: before.map((row) => present.get(keyOf(row)) ?? row),
    gone: new Set(keys.filter((key) => !present.has(key))),
    fresh: [...present.keys()].filter((key) => !known.has(key)).length,
  };
}
