import type { PackageDefinition } from "./package-definition.ts";
import { homepage, maintainer, type Release } from "./release.ts";

export const debArch = { x64: "amd64", arm64: "arm64" } as const;

export interface ControlInput {
  readonly definition: PackageDefinition;
  readonly release: Release;
  /** KiB. */
  readonly installedSize: number;
  readonly oldestGlibc: readonly [number, number];
}

/** The control file of a deb (deb-control(5)). */
export function controlText({ definition, release, installedSize, oldestGlibc }: ControlInput): string {
  const libraries = [`libc6 (>= ${oldestGlibc.join(".")})`, "libgcc-s1 | libgcc1", "libstdc++6 (>= 5.2)"];
  const fields = {
    Package: definition.name,
    Version: release.version,
    Architecture: debArch[release.arch],
    Maintainer: maintainer,
    "Installed-Size": String(installedSize),
    // d-s-h: which enablement of units is the admin's.
    "Pre-Depends": "init-system-helpers (>= 1.54~)",
    Depends: [...libraries, ...definition.needs].join(", "),
    Section: "net",
    Priority: "optional",
    Homepage: homepage,
    Description: [definition.summary, ...definition.description].join("\n "),
  };
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join("");
}

/** The changelog that a Debian package carries; the changes are in the project's own. */
export function debChangelog(name: string, release: Release): string {
  const date = new Date(release.epoch * 1000).toUTCString().replace("GMT", "+0000");
  return `${name} (${release.version}) stable; urgency=medium\n\n  * Release ${release.version}.\n\n -- ${maintainer}  ${date}\n`;
}
