import { createHash } from "node:crypto";
import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { mkdir, readdir, readFile, rename, stat, utimes, writeFile } from "node:fs/promises";
import { homedir, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { holdLock } from "./hold-lock.ts";
import { output, run } from "./program.ts";

/** Days that a folder is kept after its last use. */
const keptDays = 30;

/** What it is made of: another recipe is another folder. */
export interface Recipe {
  readonly name: string;
  readonly contents: unknown;
}

/** For all checkouts of this machine, as `scripts/kubernetes.sh` keeps its builds; in this checkout where nothing can be written there. */
export function testCache(shared: string = sharedCache()): string {
  const folder = join(shared, "world");
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    return resolve(import.meta.dirname, "../../.cache/world/kept");
  }
}

function sharedCache(): string {
  const { HOME: home = homedir(), XDG_CACHE_HOME: caches = join(home, ".cache") } = process.env;
  return userInfo().uid === 0 ? "/var/cache/platform-tests" : join(caches, "platform-tests");
}

/** Where a folder of this recipe is, or would be. */
export function keptPath({ name, contents }: Recipe, cache: string = testCache()): string {
  const digest = createHash("sha256").update(JSON.stringify(contents)).digest("hex").slice(0, 12);
  return join(cache, `${name}-${digest}`);
}

export interface KeptOptions {
  /** Default: `testCache()`. */
  readonly cache?: string;
  /** Before the leftovers of a killed attempt are removed: ends the mounts that it may have left. */
  readonly release?: (half: string) => Promise<void>;
}

/** Those that this process has looked at, by path. */
const sound = new Map<string, Promise<void>>();

/**
 * A read-only folder that `fill` makes at its first use, and that is kept. `fill` gets an empty folder, and the path that it will have. A
 * folder that has lost files, or has empty ones after a power cut, is made again.
 */
export async function keptFolder(recipe: Recipe, fill: (folder: string, path: string) => Promise<void>, options: KeptOptions = {}): Promise<string> {
  const { cache = testCache(), release } = options;
  const path = keptPath(recipe, cache);
  const looked = sound.get(path) ?? provide();
  sound.set(path, looked);
  try {
    await looked;
  } catch (thrown) {
    sound.delete(path);
    throw thrown;
  }
  return path;

  async function provide(): Promise<void> {
    if (!(await isWhole(path)))
      await holdLock(`${path}.lock`, async () => {
        await utimes(`${path}.lock`, new Date(), new Date());
        if (await isWhole(path)) return;
        const half = `${path}.half`;
        await release?.(half);
        await remove(half);
        await setAside(path);
        await mkdir(half);
        await fill(half, path);
        await writeFile(listOf(path), `${await listing(half)}${lastLine}`);
        await output("sync", ["--file-system", half]);
        await rename(half, path);
        await removeUnused(cache).catch(() => {});
      });
    await utimes(listOf(path), new Date(), new Date());
  }
}

/** Says what a kept folder holds: one that was made again from the same recipe may hold newer packages. */
export async function contentsDigest(path: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(listOf(path)))
    .digest("hex");
}

/** Other tests may have it mounted: its files stay until it is removed with what was not used for long. */
async function setAside(path: string): Promise<void> {
  if (existsSync(path)) await rename(path, `${path}.aside-${Date.now()}`);
}

/** A list that was cut does not end with it. */
const lastLine = "end\n";

/** What was in the folder when it was made. */
function listOf(path: string): string {
  return `${path}.list`;
}

/** A line for each file: type, permissions, size unless it is a folder, path. */
async function listing(folder: string): Promise<string> {
  return await output("find", [folder, "-mindepth", "1", "-type", "d", "-printf", "%y %m %P\\n", "-o", "-printf", "%y %m %s %P\\n"]);
}

/** Not while another process makes it again. */
async function isWhole(path: string): Promise<boolean> {
  try {
    const list = await readFile(listOf(path), "utf8");
    const there = new Set((await listing(path)).split("\n"));
    return (
      list.endsWith(`\n${lastLine}`) &&
      list
        .slice(0, -lastLine.length)
        .split("\n")
        .every((line) => there.has(line))
    );
  } catch {
    return false;
  }
}

/** Nothing that is mounted in them. */
async function remove(...folders: string[]): Promise<void> {
  await output("rm", ["--recursive", "--force", "--one-file-system", ...folders]);
}

/** Those of other recipes that no test has used for a while. What cannot be removed stays. */
async function removeUnused(cache: string): Promise<void> {
  const since = Date.now() - keptDays * 24 * 3600 * 1000;
  const isUnused = async (path: string): Promise<boolean> => {
    const used = await stat(listOf(path)).catch(() => stat(`${path}.lock`));
    return used.mtimeMs < since;
  };
  const names = await readdir(cache);
  const aside = names.filter((name) => Number(/\.aside-(\d+)$/.exec(name)?.[1] ?? since) < since);
  await remove(...aside.map((name) => join(cache, name)));
  const paths = names.filter((name) => /-[0-9a-f]{12}\.lock$/.test(name)).map((name) => join(cache, name.slice(0, -".lock".length)));
  for (const path of paths) {
    if (!(await isUnused(path))) continue;
    await holdLock(`${path}.lock`, async () => {
      if (await isUnused(path)) await run("rm", ["--recursive", "--force", "--one-file-system", path, `${path}.half`, listOf(path)]);
    });
  }
}
