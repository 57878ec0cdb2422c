/** Files that take longest, for a checkout in which nothing has run yet; the order of the others hardly matters. */
const knownLong = [
  "power-cuts",
  "installers",
  "upgrade",
  "repository",
  "install-script",
  "packages",
  "agent-service",
  "bad-versions",
  "kubernetes",
  "role-option",
];
/** Files that share a cluster of Kubernetes, which ends soon after the last of them: apart, each would start it again (`open-keeper`). */
const together = "test/stories/kubernetes";

/** Paths of test files, the longest first, by the seconds that they took before; those that belong together are neighbours. Pure. */
export function orderFiles(paths: readonly string[], times: Readonly<Record<string, number>>): readonly string[] {
  const secondsOf = (path: string): number => times[path] ?? guess(path);
  const isTogether = (path: string): boolean => path.startsWith(together);
  const longest = Math.max(0, ...paths.filter(isTogether).map(secondsOf));
  const rank = (path: string): number => (isTogether(path) ? longest : secondsOf(path));
  return paths.toSorted((a, b) => rank(b) - rank(a) || Number(isTogether(b)) - Number(isTogether(a)));
}

/** Seconds. */
function guess(path: string): number {
  const place = knownLong.findIndex((name) => path.startsWith(`test/stories/${name}`));
  return place < 0 ? 0 : 1_000 - place;
}
