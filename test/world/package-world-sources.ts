import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";

export const root: string = resolve(import.meta.dirname, "../..");

/** Sources of the programs and packages. */
const sources = ["agent", "cli", "control", "core", "packaging", "programs", "scripts", "updater", "main.ts", "package-lock.json"];

/** Equal sources have equal digests; tests do not count as sources. */
export async function sourceDigest(more: string): Promise<string> {
  const hash = createHash("sha256").update(more);
  for (const name of sources) await add(hash, name);
  return hash.digest("hex").slice(0, 12);
}

async function add(hash: ReturnType<typeof createHash>, path: string): Promise<void> {
  const entries = await readdir(join(root, path), { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) {
    hash.update(`${path}\0`).update(await readFile(join(root, path)));
    return;
  }
  for (const { name } of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!name.endsWith(".test.ts")) await add(hash, `${path}/${name}`);
  }
}
