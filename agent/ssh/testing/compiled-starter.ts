import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join, resolve } from "node:path";

const sources = resolve(import.meta.dirname, "../../host/session");
const cache = resolve(import.meta.dirname, "../../../.cache/session-start");
let compiled: string | undefined;

/** Path of `session-start`, compiled from source once for each state of it. The build makes it for old systems too; this one is for here. */
export function compiledStarter(): string {
  compiled ??= compile();
  return compiled;
}

function compile(): string {
  const files = readdirSync(sources).filter((name) => /\.[ch]$/.test(name));
  const hash = createHash("sha256");
  for (const file of files.sort()) hash.update(file).update(readFileSync(join(sources, file)));
  const path = join(cache, hash.digest("hex").slice(0, 16));
  if (existsSync(path)) return path;
  mkdirSync(cache, { recursive: true });
  const own = `${path}.${process.pid}`;
  const units = files.filter((name) => name.endsWith(".c")).map((name) => join(sources, name));
  execFileSync("gcc", ["-std=gnu11", ...units, "-ldl", "-o", own]);
  renameSync(own, path);
  return path;
}
