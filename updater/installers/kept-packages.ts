import { mkdir, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** Folder of kept packages, written only by root: each was checked when it was fetched. */
export const keptFolder = "/var/cache/platform-upgrade";
/** Download folder of the package to install. */
export const fetched: string = join(keptFolder, "archives");

export interface PackageFile {
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

/** `fetch` leaves one package in the given folder; that one is kept, and other versions of it are removed. */
export async function keepPackage(wanted: PackageFile, fetch: (folder: string) => Promise<unknown>): Promise<void> {
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
