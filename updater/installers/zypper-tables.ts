export interface ZypperRow {
  readonly name: string;
  /** Version without its release. */
  readonly version: string;
  readonly locked: boolean;
}

/**
 * Rows of `zypper search -s --match-exact NAME`; the letters of the first column are the same in every language:
 *
 *   S  | Name         | Type    | Version | Arch   | Repository
 *   ---+--------------+---------+---------+--------+-----------
 *   vl | platform-ent | package | 1.2.0-1 | x86_64 | platform
 */
export function parseSearch(text: string): ZypperRow[] {
  return text.split("\n").flatMap((line) => {
    const [status, name, kind, edition] = line.split("|").map((cell) => cell.trim());
    if (status === undefined || name === undefined || kind !== "package" || edition === undefined) return [];
    return [{ name, version: edition.replace(/-[^-]*$/, ""), locked: status.includes("l") }];
  });
}

/** Bytes to fetch, and by how much the installed files grow, by `zypper --xmlout install --dry-run`. Undefined without output. */
export function parseSummary(xml: string): { readonly fetch: number; readonly grow: number } | undefined {
  const summary = /<install-summary\b[^>]*>/.exec(xml)?.[0];
  const fetch = /\bdownload-size="(\d+)"/.exec(summary ?? "")?.[1];
  const grow = /\bspace-usage-diff="(-?\d+)"/.exec(summary ?? "")?.[1];
  return fetch === undefined || grow === undefined ? undefined : { fetch: Number(fetch), grow: Number(grow) };
}

/** Names of all locks by `zypper --xmlout locks`. */
export function parseLocks(xml: string): string[] {
  return [...xml.matchAll(/<lock\b[^>]*>.*?<name>([^<]*)<\/name>/gs)].map(([, name = ""]) => name);
}
