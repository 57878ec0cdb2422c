/** One row of the version table of `apt-cache policy NAME`. */
export interface PolicyRow {
  readonly version: string;
  readonly priority: number;
  readonly installed: boolean;
}

/**
 * Rows of the version table:
 *
 *     Version table:
 *        1.2.0 500
 *           500 https://proxy.example.com/packages/apt stable/v1/main amd64 Packages
 *    *** 1.0.0 1001
 *           100 /var/lib/dpkg/status
 */
export function parsePolicy(text: string): PolicyRow[] {
  return [...text.matchAll(/^ (\*\*\*| {3}) (\S+) (-?\d+)$/gm)].map(([, mark, version = "", priority]) => ({
    version,
    priority: Number(priority),
    installed: mark === "***",
  }));
}

/**
 * Whether preferences keep the package from moving by itself to what the repository has: some version of the repository has a low priority
 * (below 100, the minimum of an installed one), or priorities differ. A version that is only installed has 100.
 */
export function isPinned(rows: readonly PolicyRow[]): boolean {
  if (rows.every((row) => row.installed)) return false;
  const wanted = rows.filter((row) => !row.installed || row.priority !== 100).map((row) => row.priority);
  return wanted.some((priority) => priority < 100) || new Set(wanted).size > 1;
}

/** Versions of the package in `apt-cache madison NAME`: `platform-ent | 1.2.0 | https://… Packages`. */
export function parseMadison(text: string, name: string): string[] {
  return text.split("\n").flatMap((line) => {
    const [found, version] = line.split("|").map((part) => part.trim());
    return found === name && version !== undefined ? [version] : [];
  });
}

/** Bytes to fetch and to unpack by `apt-cache show NAME=VERSION`; missing values are estimated high. Undefined if there is no output. */
export function parseSizes(text: string): { readonly fetch: number; readonly unpack: number } | undefined {
  const size = /^Size: (\d+)$/m.exec(text)?.[1];
  const installed = /^Installed-Size: (\d+)$/m.exec(text)?.[1];
  if (size === undefined) return undefined;
  return { fetch: Number(size), unpack: installed === undefined ? Number(size) * 5 : Number(installed) * 1024 };
}
