import { existsSync } from "node:fs";
import { copyFile, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { keptFolder, keptPath, type Recipe } from "./kept-folder.ts";
import { NotHere } from "./not-here.ts";
import { outwardEnv } from "./outward-env.ts";
import { run } from "./program.ts";
import { long } from "./rounds.ts";

/** The shell and its 460 packages, with their checksums: a day alone does not pin them where the registry's days are not those of the publication. */
const pinned = resolve(import.meta.dirname, "mongosh");
const files = ["package.json", "package-lock.json"] as const;

/** Path of mongosh. 154 MB: only `make test-long` downloads it, later runs have it. Throws NotHere where it is not. */
export async function mongosh(): Promise<string> {
  const recipe: Recipe = { name: "mongosh", contents: await Promise.all(files.map(async (file) => await readFile(join(pinned, file), "utf8"))) };
  if (!long && !existsSync(keptPath(recipe))) throw new NotHere("mongosh (154 MB) is downloaded by make test-long");
  return join(await keptFolder(recipe, fill), "node_modules/.bin/mongosh");
}

async function fill(folder: string): Promise<void> {
  for (const file of files) await copyFile(join(pinned, file), join(folder, file));
  const options = ["--ignore-scripts", "--no-fund", "--no-audit", "--silent"];
  const done = await run("npm", ["ci", ...options], { cwd: folder, env: outwardEnv(), limitMs: 160_000 });
  if (done.status !== 0) throw new NotHere(`mongosh cannot be downloaded here: npm ci: ${done.stderr.trim().split("\n").at(-1)}`);
}
