/** Hosts that have one version. */
export interface VersionShare {
  readonly version: string;
  readonly count: number;
  /** Of all, 0 to 1. */
  readonly share: number;
}

/** The versions of a fleet, the most common first, equal ones by name. Pure. */
export function versionShares(versions: readonly string[]): readonly VersionShare[] {
  const counts = new Map<string, number>();
  for (const version of versions) counts.set(version, (counts.get(version) ?? 0) + 1);
  return [...counts]
    .map(([version, count]) => ({ version, count, share: count / versions.length }))
    .sort((a, b) => b.count - a.count || (a.version < b.version ? -1 : 1));
}
