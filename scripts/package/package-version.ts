/** `1.2.3` with an optional pre-release and build, as npm writes it. */
const semantic =
  /^(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*))?$/;

/**
 * The version that deb and rpm know: `1.2.0-rc.1` is `1.2.0~rc.1`, which both sort before `1.2.0`. Throws for anything but a version.
 * A hyphen within the pre-release becomes a dot: both formats separate their own revision with it.
 */
export function packageVersion(version: string): string {
  const found = semantic.exec(version);
  if (found === null) throw new Error(`${JSON.stringify(version)} is not a version; expected one like 1.2.3 or 1.2.3-rc.1`);
  const [, major, minor, patch, prerelease, build] = found;
  const before = prerelease === undefined ? "" : `~${prerelease.replaceAll("-", ".")}`;
  return `${major}.${minor}.${patch}${before}${build === undefined ? "" : `+${build}`}`;
}
