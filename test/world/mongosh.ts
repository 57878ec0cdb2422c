import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { keptFolder, keptPath } from "./kept-folder.ts";
import { NotHere } from "./not-here.ts";
import { outwardEnv } from "./outward-env.ts";
import { run } from "./program.ts";
import { long } from "./rounds.ts";

/** The shell and its 460 packages, as they were on that day; `digest`: of their paths, versions and checksums. */
const pinned = { version: "2.12.0", day: "2026-11-22T00:00:00Z", digest: "a829d6589b709399ae34c17ca2d776bbbf84b589d2051c1b18b294a425b38826" };
const recipe = { name: "mongosh", contents: pinned };

/** Path of mongosh. 154 MB: only `make test-long` downloads it, later runs have it. Throws NotHere where it is not. */
export async function mongosh(): Promise<string> {
  if (!long && !existsSync(keptPath(recipe))) throw new NotHere("mongosh (154 MB) is downloaded by make test-long");
  return join(await keptFolder(recipe, fill), "node_modules/.bin/mongosh");
}

async function fill(folder: string): Promise<void> {
  const npm = async (...args: readonly string[]): Promise<void> => {
    const options = ["--ignore-scripts", "--no-fund", "--no-audit", "--silent"];
    const done = await run("npm", [...args, ...options], { cwd: folder, env: outwardEnv(), limitMs: 160_000 });
    if (done.status !== 0) throw new NotHere(`mongosh cannot be downloaded here: npm ${args[0]}: ${done.stderr.trim().split("\n").at(-1)}`);
  };
  await writeFile(join(folder, "package.json"), '{ "private": true }');
  await npm("install", "--package-lock-only", `--before=${pinned.day}`, `mongosh@${pinned.version}`);
  const { packages } = JSON.parse(await readFile(join(folder, "package-lock.json"), "utf8")) as Lock;
  const lines = Object.entries(packages).flatMap(([path, one]) => (path === "" ? [] : [`${path} ${one.version} ${one.integrity}\n`]));
  const digest = createHash("sha256").update(lines.sort().join("")).digest("hex");
  if (digest !== pinned.digest) throw new Error(`the packages of mongosh ${pinned.version} have the digest ${digest} instead of ${pinned.digest}`);
  await npm("ci");
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}
