import { mkdir, open, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** Mark on disk while a package is being installed: if found later, a kill or a power cut has interrupted that. */
const markFile = "/var/lib/platform-upgrade/transaction";

/** Runs `transaction` with the mark set; only the death of this process leaves it behind. */
export async function marked<T>(name: string, transaction: () => Promise<T>): Promise<T> {
  await mkdir(dirname(markFile), { recursive: true });
  const file = await open(markFile, "w", 0o644);
  try {
    await file.writeFile(`${name}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    return await transaction();
  } finally {
    await clearMark();
  }
}

/** Name of the package whose installation was interrupted. */
export async function interrupted(): Promise<string | undefined> {
  try {
    return (await readFile(markFile, "utf8")).trim();
  } catch {
    return undefined;
  }
}

export async function clearMark(): Promise<void> {
  await rm(markFile, { force: true });
}
