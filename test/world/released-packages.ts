import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publishRepository } from "../../scripts/repository/publish.ts";
import { holdLock } from "./hold-lock.ts";
import { machinesSkip } from "./machine-skip.ts";
import { packagedVersions, packageWorld } from "./package-world.ts";
import { root } from "./package-world-sources.ts";
import { output, run } from "./program.ts";

/** The commit, tag or branch whose packages upgrades begin with: `make test-upgrade` names it. */
export const upgradeFrom = process.env.TEST_FROM;

/** Why nothing can be upgraded from there, or undefined: for `machineFixture(openRelease, releaseSkip)`. */
export const releaseSkip: string | undefined = upgradeFrom === undefined ? "make test-upgrade names the commit to begin with" : machinesSkip;

/** The build of another commit's sources. Shared: copy it, do not write into it. */
export interface ReleasedPackages {
  /** Its debs and rpms, in the version `packagedVersions.now`, whatever it calls itself: what comes after it is `next`. */
  readonly packages: string;
  /** Folder with the programs of its package: platform, tsh, tctl. */
  readonly programs: string;
  /** Its README and docs. */
  readonly source: string;
}

const cache = join(root, ".cache/world/released");

/** Whether control of the release signs the versions that it asks for. */
export async function releaseSigns(): Promise<boolean> {
  return (await run("git", ["cat-file", "-e", `${upgradeFrom}:core/versions/upgrade-statement.ts`], { cwd: root })).status === 0;
}

/** Builds them at the first use of a commit with its own scripts and dependencies (about two minutes), under a lock, and keeps them. */
export async function releasedPackages(ref: string): Promise<ReleasedPackages> {
  const commit = (await output("git", ["rev-parse", "--verify", "--end-of-options", `${ref}^{commit}`], { cwd: root })).trim();
  const dir = join(cache, commit);
  if (!existsSync(dir)) {
    await holdLock(join(cache, "lock"), async () => {
      if (existsSync(dir)) return;
      const half = join(cache, "half");
      await rm(half, { recursive: true, force: true });
      await make(commit, half);
      await rename(half, dir);
    });
  }
  return { packages: join(dir, "packages"), programs: join(dir, "files/usr/bin"), source: join(dir, "source") };
}

async function make(commit: string, dir: string): Promise<void> {
  const [source, packages] = [join(dir, "source"), join(dir, "packages")];
  await mkdir(source, { recursive: true });
  await output("sh", ["-ec", 'git archive "$1" | tar -x -C "$2"', "sh", commit, source], { cwd: root });
  await takeModules(source);
  const build = ["--version", packagedVersions.now, "--arch", process.arch, "--fast", "--out", packages];
  const env = { SOURCE_DATE_EPOCH: "1790000000" };
  await output("bash", ["-ec", 'scripts/prepare.sh build; exec "$0" scripts/package.ts "$@"', process.execPath, ...build], {
    ...{ cwd: source, env, limitMs: 600_000 },
  });
  await rm(join(source, "node_modules"), { recursive: true });
  await rm(join(source, ".cache"), { recursive: true });
  const [deb = ""] = (await readdir(packages)).filter((name) => /^platform-ent_.*\.deb$/.test(name));
  await output("dpkg-deb", ["-x", join(packages, deb), join(dir, "files")]);
}

/** Those that are here, where it wants the same; else its own prepare.sh asks the registry. */
async function takeModules(source: string): Promise<void> {
  const [own, its] = await Promise.all([root, source].map((from) => readFile(join(from, "package-lock.json"), "utf8")));
  if (own !== its) return;
  const [from, to] = [join(root, "node_modules"), join(source, "node_modules")];
  const linked = await run("cp", ["--archive", "--link", from, to]);
  // Another file system: no links across.
  if (linked.status !== 0) await output("cp", ["--archive", from, to]);
}

/** A signed repository of those packages, and of today's as the next version. */
export interface Release extends AsyncDisposable {
  readonly from: ReleasedPackages;
  readonly repository: string;
  /** For a story's own files. */
  readonly dir: string;
}

export async function openRelease(): Promise<Release> {
  if (upgradeFrom === undefined) throw new Error("TEST_FROM names no commit to begin with");
  await using stack = new AsyncDisposableStack();
  const [from, world] = [await releasedPackages(upgradeFrom), await packageWorld()];
  const dir = await mkdtemp(join(tmpdir(), "platform-release-"));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const [all, repository] = [join(dir, "packages"), join(dir, "repository")];
  await mkdir(all);
  const today = (await readdir(world.packages)).filter((name) => name.includes(packagedVersions.next));
  for (const [folder, names] of [
    [from.packages, await readdir(from.packages)],
    [world.packages, today],
  ] as const) {
    await output("cp", [...names.map((name) => join(folder, name)), all]);
  }
  await publishRepository({ packages: all, out: repository, keys: { gnupghome: world.gnupghome }, now: new Date() });
  const kept = stack.move();
  return { from, repository, dir, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
