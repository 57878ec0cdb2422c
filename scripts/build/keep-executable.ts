import { createHash } from "node:crypto";
import { copyFile, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";

/** Maximum kept copies of each program, the last used ones: a test run makes two versions. */
const most = 4;

export interface Kept {
  readonly cache: string;
  readonly name: string;
  /** Digest of all its inputs. */
  readonly key: string;
}

/** A key of files by their names and contents, and of the folder that builds it: an executable with the same key is the same. */
export async function keyOf(facts: unknown, files: Readonly<Record<string, string>>): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify([facts, process.version]));
  const builders = (await readdir(import.meta.dirname)).filter((name) => !name.endsWith(".test.ts"));
  const all = { ...files, ...Object.fromEntries(builders.map((name) => [`build/${name}`, join(import.meta.dirname, name)])) };
  for (const [name, file] of Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(
      `${name} ${createHash("sha256")
        .update(await readFile(file))
        .digest("hex")}\n`,
    );
  }
  return hash.digest("hex").slice(0, 32);
}

/** Copies a kept executable to `file`. Returns whether there was one. */
export async function takeKept({ cache, name, key }: Kept, file: string): Promise<boolean> {
  const kept = join(cache, `${name}-${key}`);
  try {
    await copyFile(kept, file);
    await utimes(kept, new Date(), new Date());
    return true;
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw failure;
  }
}

/** Keeps a built executable, and removes the oldest. */
export async function keep({ cache, name, key }: Kept, file: string): Promise<void> {
  const kept = join(cache, `${name}-${key}`);
  await copyFile(file, `${kept}.${process.pid}`);
  await rename(`${kept}.${process.pid}`, kept);
  const isOne = new RegExp(`^${name}-[0-9a-f]{32}$`);
  const paths = (await readdir(cache)).filter((entry) => isOne.test(entry)).map((entry) => join(cache, entry));
  const dated = await Promise.all(paths.map(async (path) => ({ path, at: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 })));
  for (const { path } of dated.sort((a, b) => b.at - a.at).slice(most)) await rm(path, { force: true });
}
