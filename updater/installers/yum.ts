import { existsSync } from "node:fs";
import { compareVersions } from "../../core/versions/compare-versions.ts";
import { UpgradeError } from "../tick/upgrade-error.ts";
import { spaceShortage } from "./free-space.ts";
import { createRunOnHost, type RunOnHost } from "./host-command.ts";
import { type Installer, type InstallerDeps, toPackageVersion } from "./installer.ts";
import { keptFolder, keptPackage, tryToKeep, withKeptPackage } from "./kept-packages.ts";
import { findRpm, healRpmHost } from "./rpm.ts";
import { marked } from "./transaction-mark.ts";

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

/** A sentence that names the admin's versionlock, or exclude that hides the package. */
async function yumHold(name: string, dnf: Dnf): Promise<string | undefined> {
  const lock = await versionLock(name, dnf);
  if (lock !== undefined) {
    return `${name} is locked on this host by the entry ${lock} of dnf versionlock; "dnf versionlock delete '${lock}'" lifts it`;
  }
  if (!existsSync(repositoryFile)) return undefined;
  // Both without the network; an unread repository shows nothing.
  if ((await visible(name, dnf, [])) > 0 || (await visible(name, dnf, ["--disableexcludes=all"])) === 0) return undefined;
  return `${name} is excluded on this host by an exclude= of /etc/dnf/dnf.conf; it moves again when that is removed`;
}

async function versionLock(name: string, { run, file }: Dnf): Promise<string | undefined> {
  const args = ["-q", "-C", "--disablerepo=*", "versionlock", "list"];
  // 1: dnf has no such plugin.
  const asked = await run({ file, args, step: "other", what: "could not read the version locks of dnf", ok: [0, 1] });
  return asked.status === 0 ? findVersionLock(asked.stdout, name) : undefined;
}

async function visible(name: string, { run, file }: Dnf, options: readonly string[]): Promise<number> {
  const args = [...onlyOurs(), "-q", "-C", ...options, "repoquery", "--qf", rowFormat, name];
  const asked = await run({ file, args, step: "other", what: "could not read the repository's index", ok: [0, 1] });
  return asked.status === 0 ? parseRows(asked.stdout, name).length : 0;
}

/** Our repository file, as written by the install script: disabled, so that no other command of the host reads it. */
const repositoryFile = "/etc/yum.repos.d/platform.repo";

interface Dnf {
  readonly run: RunOnHost;
  readonly file: "dnf" | "yum";
}

/** Options for our repository only, with strict checks, overriding dnf.conf and the repository file. */
function onlyOurs(): string[] {
  if (!existsSync(repositoryFile)) {
    throw new UpgradeError("repository_unreachable", `${repositoryFile} is missing: run the install script again to add the repository`);
  }
  const options = [
    "platform.excludepkgs=",
    "platform.skip_if_unavailable=False",
    "platform.gpgcheck=1",
    "platform.repo_gpgcheck=1",
    "skip_if_unavailable=False",
    "localpkg_gpgcheck=1",
    "best=True",
    "exit_on_lock=True",
    "install_weak_deps=False",
    "retries=2",
    "timeout=30",
  ];
  return ["-y", "--color=never", "--repo=platform", ...options.map((option) => `--setopt=${option}`)];
}

/** A version that the repository has. */
interface RepositoryRow {
  readonly version: string;
  readonly fetch: number;
  readonly unpack: number;
}

/** dnf ends each row with a newline, dnf5 does not. */
const rowFormat = "%{name}|%{version}|%{size}|%{installsize}\n";

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
