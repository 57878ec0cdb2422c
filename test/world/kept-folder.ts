import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { holdLock } from "./hold-lock.ts";

const cache = resolve(import.meta.dirname, "../../.cache/world/databases");

/** What it is made of: another recipe is another folder. */
export interface Recipe {
  readonly name: string;
  readonly contents: unknown;
}

/** Where a folder of this recipe is, or would be. */
export function keptPath({ name, contents }: Recipe): string {
  const digest = createHash("sha256").update(JSON.stringify(contents)).digest("hex").slice(0, 12);
  return join(cache, `${name}-${digest}`);
}

/** A read-only folder that `fill` makes at its first use, and that is kept. `fill` gets an empty folder, and the path that it will have. */
export async function keptFolder(recipe: Recipe, fill: (folder: string, path: string) => Promise<void>): Promise<string> {
  const path = keptPath(recipe);
  if (existsSync(path)) return path;
  return await holdLock(`${path}.lock`, async () => {
    if (existsSync(path)) return path;
    const half = `${path}.half`;
    await rm(half, { recursive: true, force: true });
    await mkdir(half);
    await fill(half, path);
    await rename(half, path);
    return path;
  });
}
