import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { UpgradeError } from "../tick/upgrade-error.ts";
import { findInstalled, healDpkg, keepConfiguration } from "./dpkg.ts";
import { spaceShortage } from "./free-space.ts";
import { createRunOnHost, type RunOnHost } from "./host-command.ts";
import { type Installer, type InstallerDeps, toPackageVersion } from "./installer.ts";
import { fetched, keptFolder, keptPackage, tryToKeep, withKeptPackage } from "./kept-packages.ts";
import { marked } from "./transaction-mark.ts";

/** Our sources, as written by the install script, where no other use of apt reads them; and as written by earlier scripts or an admin. */
const sourceFiles = ["/etc/apt/platform.list", "/etc/apt/sources.list.d/platform.sources", "/etc/apt/sources.list.d/platform.list"] as const;
/** Our index: the host's own `apt-get update` drops entries that its lists do not name. */
const lists = "/var/lib/platform-upgrade/lists";

/** Debian and its family. Everything but `installed` uses only our repository: no other one can offer a version of ours. */
export function aptInstaller(deps: InstallerDeps): Installer {
  const run = createRunOnHost(deps, sourceFiles);
  return {
    kind: "apt",
    installed: (name) => findInstalled(name, run),
    hold: (name) => aptHold(name, run, sourceFile() === undefined ? [] : onlyOurs()),
    refresh: () => refresh(run),
    available: async (name, version) => {
      const args = [...onlyOurs(), "madison", name];
      const { stdout } = await run({ file: "apt-cache", args, step: "other", what: "could not read the repository's index" });
      return parseMadison(stdout, name).includes(toPackageVersion(version));
    },
    shortage: (name, version) => shortage(run, name, version),
    keep: (name, version) => tryToKeep(deps, { name, version, type: "deb" }, (folder) => download(run, name, version, folder)),
    install: (name, version, { allowDowngrade }) => install(deps, run, { name, version, allowDowngrade }),
    heal: () => healDpkg(run),
  };
}

/** Read at each use: the install script may have run again in between. The caches of apt are left to its other users. */
function onlyOurs(): string[] {
  const file = sourceFile();
  if (file === undefined) {
    throw new UpgradeError("repository_unreachable", `${sourceFiles[0]} is missing: run the install script again to add the repository`);
  }
  const options = [
    `Dir::Etc::sourcelist=${file}`,
    "Dir::Etc::sourceparts=-",
    `Dir::State::lists=${lists}/`,
    "APT::Get::List-Cleanup=0",
    "Dir::Cache::pkgcache=",
    "Dir::Cache::srcpkgcache=",
  ];
  return options.flatMap((option) => ["-o", option]);
}

function sourceFile(): string | undefined {
  return sourceFiles.find((path) => existsSync(path));
}

/** Overrides the host's own settings. */
const strict = [
  // Otherwise apt exits with 0 when it keeps the old index instead of an untrusted one.
  "APT::Update::Error-Mode=any",
  "Acquire::AllowInsecureRepositories=false",
  "Acquire::AllowWeakRepositories=false",
  "Acquire::AllowDowngradeToInsecureRepositories=false",
  "Acquire::Check-Valid-Until=true",
  "Acquire::Check-Date=true",
  "APT::Get::AllowUnauthenticated=false",
  "Acquire::Languages=none",
  "Acquire::Retries=1",
  "Acquire::http::Timeout=30",
  "Acquire::https::Timeout=30",
].flatMap((option) => ["-o", option]);

async function refresh(run: RunOnHost): Promise<void> {
  const args = ["-q", ...onlyOurs(), ...strict, "update"];
  await mkdir(join(lists, "partial"), { recursive: true });
  await run({ file: "apt-get", args, step: "refresh", what: "could not read the repository's index" });
}

async function shortage(run: RunOnHost, name: string, version: string): Promise<string | undefined> {
  const args = [...onlyOurs(), "show", `${name}=${toPackageVersion(version)}`];
  const { stdout } = await run({ file: "apt-cache", args, step: "other", what: `could not read the size of ${name} ${version}` });
  const sizes = parseSizes(stdout);
  if (sizes === undefined) throw new UpgradeError("package_missing", `the repository does not have ${name} ${version}`);
  return await spaceShortage([
    // The package, and the one of the previous version.
    { folder: keptFolder, bytes: 2 * sizes.fetch },
    { folder: "/usr", bytes: sizes.unpack },
    { folder: "/var/lib/dpkg", bytes: 0 },
  ]);
}

/** Download folder of `apt-get`: our own, so that nothing stays in the host's and no other program's lock interferes. */
function into(folder: string): string[] {
  return ["-o", `Dir::Cache::archives=${folder}/`];
}

async function download(run: RunOnHost, name: string, version: string, folder: string): Promise<void> {
  const wanted = ["--reinstall", "--download-only", "install", `${name}=${toPackageVersion(version)}`];
  const args = ["-q", "-y", ...onlyOurs(), ...strict, ...into(folder), ...wanted];
  await run({ file: "apt-get", args, step: "download", what: `could not fetch ${name} ${version}` });
}

interface Wanted {
  readonly name: string;
  readonly version: string;
  readonly allowDowngrade: boolean;
}

async function install(deps: InstallerDeps, run: RunOnHost, { name, version, allowDowngrade }: Wanted): Promise<void> {
  const hold = await aptHold(name, run, onlyOurs());
  if (hold !== undefined) throw new UpgradeError("held_by_admin", hold);
  const what = `could not install ${name} ${version}`;
  const options = ["-q", "-y", "--no-install-recommends", "--no-remove", ...(allowDowngrade ? ["--allow-downgrades"] : [])];
  const answers = keepConfiguration.flatMap((option) => ["-o", `Dpkg::Options::=${option}`]);
  const exactly = ["install", `${name}=${toPackageVersion(version)}`];
  await mkdir(join(fetched, "partial"), { recursive: true });
  const common = [...onlyOurs(), ...strict, ...into(fetched), ...options, ...answers];
  try {
    await withKeptPackage(deps.log, {
      kept: () => keptPackage({ name, version, type: "deb" }),
      fetch: () => run({ file: "apt-get", args: [...common, "--download-only", ...exactly], step: "download", what }),
      install: () => marked(name, () => run({ file: "apt-get", args: [...common, "--no-download", ...exactly], step: "install", what })),
      installKept: (path) => marked(name, () => run({ file: "dpkg", args: [...keepConfiguration, "--install", path], step: "install", what })),
    });
  } finally {
    await rm(fetched, { recursive: true, force: true });
  }
}

const preferences = "/etc/apt/preferences";
const folder = "/etc/apt/preferences.d";
/** Our own preferences: keep every other program from moving the package, and are not an admin's hold. */
const own = "platform-ent";

/**
 * A sentence that names the admin's `apt-mark hold`, or pin. Pins are queried without our own preferences.
 * `sources`: options that leave apt no repository but ours.
 */
async function aptHold(name: string, run: RunOnHost, sources: readonly string[]): Promise<string | undefined> {
  const what = `could not read the state of ${name}`;
  const asked = await run({ file: "dpkg-query", args: ["-W", "-f", `\${db:Status-Want}\n`, name], step: "other", what, ok: [0, 1] });
  if (asked.status === 0 && asked.stdout.trim() === "hold") {
    return `${name} is on hold on this host; "apt-mark unhold ${name}" lifts it`;
  }
  const others = await mkdtemp("/tmp/platform-upgrade-");
  try {
    for (const file of await preferenceFiles()) await symlink(join(folder, file), join(others, file));
    const args = [...sources, "-o", `Dir::Etc::preferencesparts=${others}`, "policy", name];
    const policy = await run({ file: "apt-cache", args, step: "other", what });
    if (!isPinned(parsePolicy(policy.stdout))) return undefined;
  } finally {
    await rm(others, { recursive: true, force: true });
  }
  return `${name} is pinned on this host by ${await pinFile(name)}; it moves again when that entry is removed`;
}

async function preferenceFiles(): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((file) => file !== own);
  } catch {
    return [];
  }
}

/** The file whose entries name the package; otherwise the places of such files. */
async function pinFile(name: string): Promise<string> {
  for (const path of [preferences, ...(await preferenceFiles()).map((file) => join(folder, file))]) {
    try {
      if ((await readFile(path, "utf8")).includes(name)) return path;
    } catch {
      // Not in this file.
    }
  }
  return `an entry in ${preferences} or ${folder}`;
}

/** One row of the version table of `apt-cache policy NAME`. */
interface PolicyRow {
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
