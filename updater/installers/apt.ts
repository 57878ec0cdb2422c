import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Installer, InstallerDeps } from "../installer.ts";
import { UpgradeError } from "../upgrade-error.ts";
import { aptHold } from "./apt-hold.ts";
import { parseMadison, parseSizes } from "./apt-tables.ts";
import { findInstalled, healDpkg, keepConfiguration } from "./dpkg.ts";
import { spaceShortage } from "./free-space.ts";
import { createRunOnHost, type RunOnHost } from "./host-command.ts";
import { fetched, keptFolder, keptPackage } from "./kept-packages.ts";
import { toPackageVersion } from "./package-version.ts";
import { marked } from "./transaction-mark.ts";
import { tryToKeep } from "./try-to-keep.ts";
import { withKeptPackage } from "./with-kept-package.ts";

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
