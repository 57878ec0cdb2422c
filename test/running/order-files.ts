/** Seconds of the files that take longest, by how their names begin, for a checkout in which nothing has run yet; the order of the others hardly matters. */
const knownLong = [
  ["upgrades", 161],
  ["power-cuts", 152],
  ["upgrade-repositories", 111],
  ["bad-versions", 110],
  ["readme", 95],
  ["upgrade-holds-and-timer", 94],
  ["installers-interruptions", 89],
  ["rotation", 71],
  ["installers-repositories", 68],
  ["reconnect", 66],
  ["installers", 65],
  ["upgrade", 64],
  ["repository", 63],
  ["install-script", 62],
  ["packages", 61],
  ["agent-service", 60],
  ["kubernetes", 59],
  ["role-option", 58],
] as const;
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
  const [, seconds = 0] = knownLong.find(([name]) => path.startsWith(`test/stories/${name}`)) ?? [];
  return seconds;
}
