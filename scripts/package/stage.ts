import { constants } from "node:fs";
import { chmod, copyFile, lutimes, mkdir, readdir, readFile, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import type { PackageDefinition, PackagedFile } from "./package-definition.ts";

/** Lays out a package's files below `root`; `texts` are files that are made, by path. Nothing depends on the umask or the time. */
export async function stage(definition: PackageDefinition, root: string, texts: Readonly<Record<string, string>> = {}): Promise<void> {
  await mkdir(root, { recursive: true });
  for (const folder of definition.folders) await mkdir(join(root, folder), { recursive: true });
  for (const file of definition.files) await place(file, root);
  for (const [path, text] of Object.entries(texts)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), path.endsWith(".gz") ? gzipSync(text, { level: 9 }) : text);
    await chmod(join(root, path), 0o644);
  }
  for (const [link, target] of Object.entries(definition.links)) await symlink(target, join(root, link));
}

/** Path of a file on the host. */
export function installedPath(file: PackagedFile): string {
  return file.gzip === true ? `${file.to}.gz` : file.to;
}

async function place(file: PackagedFile, root: string): Promise<void> {
  const target = join(root, installedPath(file));
  await mkdir(dirname(target), { recursive: true });
  if (file.gzip === true) await writeFile(target, gzipSync(await readFile(file.from), { level: 9 }));
  else await copyFile(file.from, target, constants.COPYFILE_FICLONE);
  await chmod(target, file.mode);
}

/** Gives everything below a folder, and the folder, one time; folders the mode 0755. */
export async function setTimes(folder: string, epoch: number): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await setTimes(path, epoch);
    else if (entry.isSymbolicLink()) await lutimes(path, epoch, epoch);
    else await utimes(path, epoch, epoch);
  }
  await chmod(folder, 0o755);
  await utimes(folder, epoch, epoch);
}
