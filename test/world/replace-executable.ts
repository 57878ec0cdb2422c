import { copyFile, rename } from "node:fs/promises";

/** As a package manager does it: what runs keeps the file of before, what starts gets this one. */
export async function replaceExecutable(path: string, executable: string): Promise<void> {
  await copyFile(executable, `${path}.new`);
  await rename(`${path}.new`, path);
}
