/**
 * A semantic version in the form of deb and rpm: `1.2.3-rc.1` is `1.2.3~rc.1`, which both sort before `1.2.3`. Our packages have no
 * revision in their deb, and release `1` in their rpm.
 */
export function toPackageVersion(version: string): string {
  return version.replace("-", "~");
}

export function fromPackageVersion(version: string): string {
  return version.replace("~", "-");
}
