import { copyFile, link, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import semver from "semver";

export interface Addition {
  /** The publication that is being made, and the one before. */
  readonly fresh: string;
  readonly before: string | undefined;
  /** Folder with the files to add, if any. */
  readonly packages: string | undefined;
  /** Add pre-releases too. */
  readonly prereleases: boolean;
}

export interface VersionedFiles {
  /** Of the publication. */
  readonly folder: string;
  /** File names are `<name>-<version>.tgz`. */
  readonly name: string;
}

export interface AddedVersions {
  /** The files of the folder now. */
  readonly files: readonly string[];
  /** Names of those that were not added. */
  readonly left: readonly string[];
}

/** Takes over the files of the publication before, and adds new ones. Throws for another file under a published name. */
export async function addVersions({ fresh, before, packages, prereleases }: Addition, { folder, name }: VersionedFiles): Promise<AddedVersions> {
  const target = join(fresh, folder);
  await mkdir(target);
  const known = before === undefined ? [] : await filesIn(join(before, folder), name);
  for (const file of known) await link(join(before ?? "", folder, file), join(target, file));
  const left: string[] = [];
  for (const file of packages === undefined ? [] : await filesIn(packages, name)) {
    const source = join(packages ?? "", file);
    if (known.includes(file)) await refuseAnother(source, join(target, file));
    else if (semver.prerelease(versionOf(file, name)) === null || prereleases) await copyFile(source, join(target, file));
    else left.push(file);
  }
  return { files: await filesIn(target, name), left };
}

/** Empty for another file. */
export function versionOf(file: string, name: string): string {
  return file.startsWith(`${name}-`) && file.endsWith(".tgz") ? file.slice(name.length + 1, -".tgz".length) : "";
}

async function filesIn(path: string, name: string): Promise<readonly string[]> {
  const names = await readdir(path).catch((thrown: NodeJS.ErrnoException) => {
    // Publications of versions without such files.
    if (thrown.code === "ENOENT") return [];
    throw thrown;
  });
  return names.filter((file) => semver.valid(versionOf(file, name)) !== null).sort();
}

async function refuseAnother(offered: string, published: string): Promise<void> {
  if ((await readFile(offered)).equals(await readFile(published))) return;
  throw new Error(`${offered} is published already with another content; give the new one another version`);
}
