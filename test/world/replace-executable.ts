import { copyFile, rename } from "node:fs/promises";

/** Like a package manager: running processes keep the old file, new ones get this one. */
export async function replaceExecutable(path: string, executable: string): Promise<void> {
  await copyFile(executable, `${path}.new`);
  await rename(`${path}.new`, path);
}
