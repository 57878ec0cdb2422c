import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { UpgradeError } from "../tick/upgrade-error.ts";
import { spaceShortage } from "./free-space.ts";
import { createRunOnHost, type RunOnHost } from "./host-command.ts";
import { type Installer, type InstallerDeps, toPackageVersion } from "./installer.ts";
import { fetched, keptFolder, keptPackage, tryToKeep, withKeptPackage } from "./kept-packages.ts";
import { findRpm, healRpmHost } from "./rpm.ts";
import { marked } from "./transaction-mark.ts";
import { createZypp, repositoryFile, type Zypp } from "./zypp.ts";

/** SUSE and its family. */
export function zypperInstaller(deps: InstallerDeps): Installer {
  const run = createRunOnHost(deps, [repositoryFile]);
  const zypp = createZypp(run);
  return {
    kind: "zypper",
    installed: async (name) => (await findRpm(name, run))?.version,
    hold: (name) => zypperHold(name, zypp),
    refresh: async () => {
      await zypp.trustKeys();
      await zypp.run({ args: ["refresh", "--force", "platform"], step: "refresh", what: "could not read the repository's index" });
    },
    available: async (name, version) => {
      const args = ["search", "--details", "--match-exact", "--type", "package", name];
      // 104: nothing found.
      const { stdout } = await zypp.run({ args, step: "other", what: "could not read the repository's index", ok: [0, 104] });
      return parseSearch(stdout).some((row) => row.name === name && row.version === toPackageVersion(version));
    },
    shortage: (name, version) => shortage(run, zypp, { name, version }),
    keep: (name, version) => tryToKeep(deps, { name, version, type: "rpm" }, (folder) => downloadInstalled(zypp, name, version, folder)),
    install: (name, version, { allowDowngrade }) => install({ deps, run, zypp }, { name, version, allowDowngrade }),
    heal: () => healRpmHost(run, (name, version) => zypp.command([...installing, "--force", "--oldpackage", exactly(name, version)])),
  };
}

const installing = ["install", "--no-recommends", "--auto-agree-with-licenses"] as const;

function exactly(name: string, version: string): string {
  return `${name}=${toPackageVersion(version)}`;
}

async function shortage(
  run: RunOnHost,
  zypp: Zypp,
  { name, version }: { readonly name: string; readonly version: string },
): Promise<string | undefined> {
  const args = [...installing, "--dry-run", "--oldpackage", exactly(name, version)];
  const { stdout } = await zypp.run({ args, xml: true, step: "other", what: `could not read the size of ${name} ${version}` });
  const sizes = parseSummary(stdout);
  if (sizes === undefined) throw new UpgradeError("package_manager_failed", `could not read the size of ${name} ${version}`);
  const before = (await findRpm(name, run))?.bytes ?? 0;
  return await spaceShortage([
    // The package, and the one of the previous version.
    { folder: keptFolder, bytes: 2 * sizes.fetch },
    { folder: "/usr", bytes: Math.max(0, before + sizes.grow) },
    { folder: "/var/lib/rpm", bytes: 0 },
  ]);
}

async function downloadInstalled(zypp: Zypp, name: string, version: string, folder: string): Promise<void> {
  const args = [...installing, "--download-only", "--force", "--oldpackage", exactly(name, version)];
  await zypp.run({ args, packages: folder, step: "download", what: `could not fetch ${name} ${version}` });
}

interface Parts {
  readonly deps: InstallerDeps;
  readonly run: RunOnHost;
  readonly zypp: Zypp;
}

interface Wanted {
  readonly name: string;
  readonly version: string;
  readonly allowDowngrade: boolean;
}

async function install({ deps, run, zypp }: Parts, { name, version, allowDowngrade }: Wanted): Promise<void> {
  const hold = await zypperHold(name, zypp);
  if (hold !== undefined) throw new UpgradeError("held_by_admin", hold);
  const what = `could not install ${name} ${version}`;
  const wanted = [...(allowDowngrade ? ["--oldpackage"] : []), exactly(name, version)];
  try {
    await withKeptPackage(deps.log, {
      kept: () => keptPackage({ name, version, type: "rpm" }),
      fetch: () => zypp.run({ args: [...installing, "--download-only", ...wanted], step: "download", what, ok: done }),
      install: () => marked(name, () => zypp.run({ args: [...installing, ...wanted], step: "install", what, ok: done })),
      installKept: (path) => marked(name, () => run({ file: "rpm", args: ["-U", "--oldpackage", "--replacepkgs", path], step: "install", what })),
    });
  } finally {
    await rm(fetched, { recursive: true, force: true });
  }
}

/** 102, 103: success, but the host or zypper itself needs a restart; 107: success, but a script of a package failed. */
const done = [0, 102, 103, 107] as const;

/** A sentence that names the admin's lock (`zypper addlock`) on the package. */
async function zypperHold(name: string, zypp: Zypp): Promise<string | undefined> {
  if (!existsSync(repositoryFile)) return undefined;
  const what = "could not read the locks of zypper";
  const args = ["search", "--details", "--match-exact", "--type", "package", name];
  // 104: nothing found; 106: our repository is unread. zypper itself matches its locks, which may be patterns.
  const found = await zypp.run({ args, step: "other", what, ok: [0, 104, 106] });
  if (!parseSearch(found.stdout).some((row) => row.name === name && row.locked)) return undefined;
  const locks = parseLocks((await zypp.run({ args: ["locks"], xml: true, step: "other", what })).stdout);
  const lock = locks.find((one) => one === name) ?? (locks.length === 1 ? locks[0] : undefined);
  if (lock === undefined)
    return `${name} is locked on this host by one of the locks of zypper: "zypper locks" lists them, "zypper removelock" lifts one`;
  return `${name} is locked on this host by the lock ${lock} of zypper; "zypper removelock '${lock}'" lifts it`;
}

interface ZypperRow {
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
