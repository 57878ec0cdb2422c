import { randomBytes } from "node:crypto";
import { renameSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Replaces a file atomically by one that only its owner may read. */
export async function replacePrivate(file: string, text: string): Promise<void> {
  const fresh = besideOf(file);
  try {
    await writePrivate(fresh, text);
    await rename(fresh, file);
  } catch (thrown) {
    await rm(fresh, { force: true }).catch(() => {});
    throw thrown;
  }
}

/** Writes a file that did not exist, and that only its owner may read. */
export async function writePrivate(file: string, text: string): Promise<void> {
  await using handle = await open(file, "wx", 0o600);
  await handle.writeFile(text);
  await handle.sync();
}

/** A hidden name beside a file or folder that no other has: `.<name>.<hex>`. */
export function besideOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}`);
}

/** Gives a file or folder another name; false when there was none. */
export function movedAside(path: string, aside: string): boolean {
  try {
    renameSync(path, aside);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw cause;
  }
}
