/** A version that the repository has. */
export interface RepositoryRow {
  readonly version: string;
  readonly fetch: number;
  readonly unpack: number;
}

/** dnf ends each row with a newline, dnf5 does not. */
export const rowFormat = "%{name}|%{version}|%{size}|%{installsize}\n";

/** Rows of `dnf repoquery --qf`. */
export function parseRows(text: string, name: string): RepositoryRow[] {
  return text.split("\n").flatMap((line) => {
    const [found, version, fetch, unpack] = line.split("|");
    if (found !== name || version === undefined) return [];
    return [{ version, fetch: Number(fetch) || 0, unpack: Number(unpack) || 0 }];
  });
}

/**
 * The entry of `dnf versionlock list` that locks the package: a pattern for name-epoch:version-release.arch such as
 * `platform-ent-0:1.0.0-1.*`. One that begins with `!` only excludes versions, which becomes visible when such a version is installed.
 */
export function findVersionLock(text: string, name: string): string | undefined {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.find((line) => line === name || (!line.startsWith("!") && mayName(line, name)));
}

function mayName(pattern: string, name: string): boolean {
  const wildcard = pattern.search(/[*?[]/);
  const fixed = wildcard < 0 ? pattern : pattern.slice(0, wildcard);
  if (fixed.startsWith(`${name}-`)) return /^(\d|$)/.test(fixed.slice(name.length + 1));
  return wildcard > 0 && `${name}-`.startsWith(fixed);
}
