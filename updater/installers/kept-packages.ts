import { mkdir, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { errorText } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import type { UpgradeReason } from "../../core/versions/upgrade-reason.ts";
import { UpgradeError } from "../tick/upgrade-error.ts";
import type { InstallerDeps } from "./installer.ts";

/** Folder of kept packages, written only by root: each was checked when it was fetched. */
export const keptFolder = "/var/cache/platform-upgrade";
/** Download folder of the package to install. */
export const fetched: string = join(keptFolder, "archives");

interface PackageFile {
  readonly name: string;
  readonly version: string;
  readonly type: "deb" | "rpm";
}

/** The kept package; undefined if there is none. */
export async function keptPackage({ name, version, type }: PackageFile): Promise<string | undefined> {
  const path = join(keptFolder, `${name}_${version}.${type}`);
  try {
    return (await stat(path)).size > 0 ? path : undefined;
  } catch {
    return undefined;
  }
}

/** Reasons of the package manager that are more specific than `no_way_back`. */
const telling = new Set(["package_manager_busy", "signature_wrong"]);

/** `keepPackage` as specified by `Installer.keep`. Throws `no_way_back`, the `telling` reasons unchanged, and for the signal. */
export async function tryToKeep(
  { signal }: Pick<InstallerDeps, "signal">,
  wanted: PackageFile,
  fetch: (folder: string) => Promise<unknown>,
): Promise<void> {
  try {
    await keepPackage(wanted, fetch);
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof UpgradeError && telling.has(cause.reason)) throw cause;
    const what = `could not keep the installed ${wanted.name} ${wanted.version} for a roll-back`;
    throw new UpgradeError("no_way_back", `${what}: ${errorText(cause)}`, { cause });
  }
}

/** `fetch` leaves one package in the given folder; that one is kept, and other versions of it are removed. */
async function keepPackage(wanted: PackageFile, fetch: (folder: string) => Promise<unknown>): Promise<void> {
  const { name, version, type } = wanted;
  await mkdir(keptFolder, { recursive: true });
  await removeHalves();
  if ((await keptPackage(wanted)) === undefined) {
    const folder = await mkdtemp(join(keptFolder, half));
    try {
      await fetch(folder);
      const found = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith(`.${type}`));
      if (found.length !== 1 || found[0] === undefined) throw new Error(`the package manager fetched ${found.length} packages instead of one`);
      await rename(join(folder, found[0]), join(keptFolder, `${name}_${version}.${type}`));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  for (const file of await readdir(keptFolder)) {
    if (file.startsWith(`${name}_`) && file !== `${name}_${version}.${type}`) await rm(join(keptFolder, file), { force: true });
  }
}

const half = "fetching-";

/** Removes leftovers of a kill. */
async function removeHalves(): Promise<void> {
  for (const file of await readdir(keptFolder)) {
    if (file.startsWith(half)) await rm(join(keptFolder, file), { recursive: true, force: true });
  }
}

interface Ways {
  /** Path of the kept package of the wanted version. */
  kept(): Promise<string | undefined>;
  fetch(): Promise<unknown>;
  install(): Promise<unknown>;
  installKept(path: string): Promise<unknown>;
}

const notItsFault: readonly UpgradeReason[] = ["package_manager_busy", "no_space", "held_by_admin"];

/** Uses the kept package when there is one: it was checked when it was fetched, and a roll-back cannot wait for a network that is down. */
export async function withKeptPackage(log: Log, { kept, fetch, install, installKept }: Ways): Promise<void> {
  const path = await kept();
  if (path !== undefined) {
    try {
      await installKept(path);
      return;
    } catch (thrown) {
      if (!(thrown instanceof UpgradeError) || notItsFault.includes(thrown.reason)) throw thrown;
      log.warn("could not install the kept package: using the repository's", { path, error: thrown.message });
    }
  }
  await fetch();
  await install();
}
