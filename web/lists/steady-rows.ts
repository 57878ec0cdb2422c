export interface SteadyRows<Row> {
  /** A row of before as it is now; one that has left as it was. */
  nowOf(row: Row): Row;
  /** Number of rows that have left since. */
  readonly gone: number;
  /** Number of rows that have come since. */
  readonly fresh: number;
}

/** What has become of the rows that a reader is looking at, which stay where they are: none comes, none goes. Pure. */
export function steadyRows<Row>(before: readonly Row[], now: readonly Row[], keyOf: (row: Row) => string): SteadyRows<Row> {
  if (before === now) return { nowOf: (row) => row, gone: 0, fresh: 0 };
  const present = new Map(now.map((row) => [keyOf(row), row]));
  const known = new Set(before.map(keyOf));
  return {
    nowOf: (row) => present.get(keyOf(row)) ?? row,
    gone: countMissing(known.keys(), present),
    fresh: countMissing(present.keys(), known),
  };
}

function countMissing(keys: Iterable<string>, among: { has(key: string): boolean }): number {
  let count = 0;
  for (const key of keys) if (!among.has(key)) count += 1;
  return count;
}
