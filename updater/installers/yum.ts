import { existsSync } from "node:fs";
import { compareVersions } from "../../core/versions/compare-versions.ts";
import type { Installer, InstallerDeps } from "../installer.ts";
import { UpgradeError } from "../upgrade-error.ts";
import { type Dnf, onlyOurs, repositoryFile } from "./dnf.ts";
import { spaceShortage } from "./free-space.ts";
import { createRunOnHost } from "./host-command.ts";
import { keptFolder, keptPackage } from "./kept-packages.ts";
import { toPackageVersion } from "./package-version.ts";
import { findRpm } from "./rpm.ts";
import { healRpmHost } from "./rpm-heal.ts";
import { marked } from "./transaction-mark.ts";
import { tryToKeep } from "./try-to-keep.ts";
import { withKeptPackage } from "./with-kept-package.ts";
import { yumHold } from "./yum-hold.ts";
import { parseRows, type RepositoryRow, rowFormat } from "./yum-tables.ts";

/** RHEL and its family: dnf, under any name. yum 3 of CentOS 7 is not included; our executable does not run there. */
export function yumInstaller(deps: InstallerDeps): Installer {
  const run = createRunOnHost(deps, [repositoryFile]);
  const file = existsSync("/usr/bin/dnf") ? "dnf" : "yum";
  const dnf: Dnf = { run, file };
  return {
    kind: "yum",
    installed: async (name) => (await findRpm(name, run))?.version,
    hold: (name) => yumHold(name, dnf),
    refresh: async () => {
      const args = [...onlyOurs(), "--refresh", "makecache"];
      await run({ file, args, step: "refresh", what: "could not read the repository's index" });
    },
    available: async (name, version) => (await rowOf(dnf, name, version)) !== undefined,
    shortage: (name, version) => shortage(dnf, name, version),
    keep: (name, version) => tryToKeep(deps, { name, version, type: "rpm" }, (folder) => downloadInstalled(dnf, name, version, folder)),
    install: (name, version, { allowDowngrade }) => install(deps, dnf, { name, version, allowDowngrade }),
    heal: () => healRpmHost(run, async (name, version) => ({ file, args: [...onlyOurs(), "reinstall", `${name}-${toPackageVersion(version)}`] })),
  };
}

async function rowOf({ run, file }: Dnf, name: string, version: string): Promise<RepositoryRow | undefined> {
  const args = [...onlyOurs(), "-q", "-C", "--disableexcludes=all", "repoquery", "--qf", rowFormat, name];
  const { stdout } = await run({ file, args, step: "other", what: "could not read the repository's index" });
  return parseRows(stdout, name).find((row) => row.version === toPackageVersion(version));
}

async function shortage(dnf: Dnf, name: string, version: string): Promise<string | undefined> {
  const row = await rowOf(dnf, name, version);
  if (row === undefined) throw new UpgradeError("package_missing", `the repository does not have ${name} ${version}`);
  return await spaceShortage([
    { folder: "/var/cache/dnf", bytes: row.fetch },
    { folder: keptFolder, bytes: row.fetch },
    { folder: "/usr", bytes: row.unpack },
    { folder: "/var/lib/rpm", bytes: 0 },
  ]);
}

async function downloadInstalled({ run, file }: Dnf, name: string, version: string, folder: string): Promise<void> {
  const wanted = ["--downloadonly", `--downloaddir=${folder}`, "reinstall", `${name}-${toPackageVersion(version)}`];
  await run({ file, args: [...onlyOurs(), ...wanted], step: "download", what: `could not fetch ${name} ${version}` });
}

interface Wanted {
  readonly name: string;
  readonly version: string;
  readonly allowDowngrade: boolean;
}

async function install(deps: InstallerDeps, dnf: Dnf, { name, version, allowDowngrade }: Wanted): Promise<void> {
  const { run, file } = dnf;
  const hold = await yumHold(name, dnf);
  if (hold !== undefined) throw new UpgradeError("held_by_admin", hold);
  const now = (await findRpm(name, run))?.version;
  if (now === version) return;
  // dnf downgrades without being asked to.
  if (now !== undefined && !allowDowngrade && compareVersions(version, now) < 0) {
    throw new UpgradeError("package_manager_failed", `${name} ${now} is installed, which is newer than ${version}`);
  }
  const what = `could not install ${name} ${version}`;
  const exactly = `${name}-${toPackageVersion(version)}`;
  await withKeptPackage(deps.log, {
    kept: () => keptPackage({ name, version, type: "rpm" }),
    fetch: () => run({ file, args: [...onlyOurs(), "--downloadonly", "install", exactly], step: "download", what }),
    install: () => marked(name, () => run({ file, args: [...onlyOurs(), "-C", "install", exactly], step: "install", what })),
    installKept: (path) => marked(name, () => run({ file: "rpm", args: ["-U", "--oldpackage", "--replacepkgs", path], step: "install", what })),
  });
}
