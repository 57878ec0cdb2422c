/** Hosts that have one version. */
export interface VersionShare {
  readonly version: string;
  readonly count: number;
  /** Of all, 0 to 1. */
  readonly share: number;
  readonly isWanted: boolean;
}

const order = new Intl.Collator("en", { numeric: true });

/** The versions of a fleet: those that are wanted first, then the others, each part from the newest to the oldest. Pure. */
export function versionShares(versions: readonly string[], wanted: readonly string[]): readonly VersionShare[] {
  const counts = new Map<string, number>();
  for (const version of versions) counts.set(version, (counts.get(version) ?? 0) + 1);
  return [...counts]
    .map(([version, count]) => ({ version, count, share: count / versions.length, isWanted: wanted.includes(version) }))
    .sort((a, b) => Number(b.isWanted) - Number(a.isWanted) || order.compare(b.version, a.version));
}
