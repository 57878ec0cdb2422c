import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join, resolve } from "node:path";

const cache = resolve(import.meta.dirname, "../../.cache/compiled");

/** Compiles C in a folder with the machine's gcc, once for each state of the folder. The build compiles it for old systems too. Its path. */
export function compileOnce(folder: string, sources: readonly string[], args: readonly string[]): string {
  const hash = createHash("sha256").update(JSON.stringify([sources, args]));
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.[ch]$/.test(name));
  for (const name of all.sort()) hash.update(name).update(readFileSync(join(folder, name)));
  const path = join(cache, hash.digest("hex").slice(0, 16));
  if (existsSync(path)) return path;
  mkdirSync(cache, { recursive: true });
  const own = `${path}.${process.pid}`;
  execFileSync("gcc", ["-std=gnu11", ...sources.map((name) => join(folder, name)), ...args, "-o", own]);
  renameSync(own, path);
  return path;
}
