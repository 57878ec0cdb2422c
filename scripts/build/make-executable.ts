import { createHash } from "node:crypto";
import { chmod, copyFile, readFile, rename, stat, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { basename, join, relative } from "node:path";
import { constants, zstdCompressSync } from "node:zlib";
import type { BuildTarget } from "./build-target.ts";
import { injectQuietly } from "./inject-quietly.ts";
import { keep, keyOf, takeKept } from "./keep-executable.ts";
import { run } from "./run.ts";
import { v8Options } from "./v8-options.ts";

export interface ExecutableParts {
  readonly target: BuildTarget;
  /** File name of the result. */
  readonly name: string;
  /** Scratch folder of this program, and one that is kept between builds. */
  readonly work: string;
  readonly cache: string;
  readonly main: string;
  /** Scripts that main loads, by name. */
  readonly parts: Readonly<Record<string, string>>;
  readonly assets: Readonly<Record<string, string>>;
  /** Builds it, even if one from the same bytes is kept. */
  readonly fresh: boolean;
}

/** Marks in the runtime's binary whether a program was injected (Node's documentation, "Single executable applications"). */
const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

/**
 * Options of the runtime. SIGUSR1 must not open the inspector. V8 takes a code cache only with the options that it was made with.
 * --use-system-ca would read 150 files at every start.
 */
const execArgv = ["--disable-warning=ExperimentalWarning", "--disable-sigusr1", ...v8Options];

/**
 * Puts the bundle, its code cache and the assets into a stripped copy of the runtime. One made from the same bytes before is taken
 * from `cache`. Returns the path of the result.
 */
export async function makeExecutable(input: ExecutableParts): Promise<string> {
  const { target, name, work, cache, main, parts, assets } = input;
  const node = await strippedNode(target, cache);
  const made = join(work, name);
  // A code cache is specific to the processor on which it was made.
  const key = await keyOf({ arch: target.arch, cpu: cpus()[0]?.model }, { ...prefixed("part", parts), ...prefixed("asset", assets), main, node });
  const kept = { cache, name, key };
  if (!input.fresh && (await takeKept(kept, made))) return made;
  await assemble(input, node, made);
  await keep(kept, made);
  return made;
}

function prefixed(kind: string, files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, file]) => [`${kind} ${name}`, file]));
}

async function assemble({ target, work, main, parts, assets }: ExecutableParts, node: string, made: string): Promise<void> {
  const blob = join(work, "program.blob");
  // Relative paths: the blob holds the main file's path as it is given.
  const settings = {
    main: relative(work, main),
    output: "program.blob",
    mainFormat: "commonjs",
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    // A cache is specific to the processor on which it was made; without one, start-up takes some 50 ms longer.
    useCodeCache: target.native,
  };
  const all = { ...assets, ...(await partAssets(target, work, parts)) };
  // "none": NODE_OPTIONS is not read.
  await writeFile(join(work, "program.json"), JSON.stringify({ ...settings, execArgv, execArgvExtension: "none", assets: all }));
  // A fixed seed makes the code cache the same each time; V8 still accepts it.
  await run(process.execPath, [...v8Options, "--random-seed=42", "--experimental-sea-config", "program.json"], { cwd: work });
  await copyFile(node, made);
  await injectQuietly(made, "NODE_SEA_BLOB", { data: await readFile(blob), fuse });
  await chmod(made, 0o755);
}

/**
 * A garbage collection would leave bytes of the past in the padding of a code cache: with a young generation that never
 * fills up it is the same each time. The fixed seed, and no threads that finish sooner or later (on a loaded machine caches
 * differed from run to run), are for the same end. V8 accepts it (checked).
 */
const reproducible = ["--predictable", "--random-seed=42", "--min-semi-space-size=256", "--max-semi-space-size=256"];
/** Parts that are kept compressed (docs/decisions/0006): all but the entries that a session starts, which are small. */
const isCompressed = (name: string): boolean => !name.endsWith("-entry");

/** Each part's script and code cache, as assets. */
async function partAssets(target: BuildTarget, work: string, parts: ExecutableParts["parts"]): Promise<Record<string, string>> {
  const assets: Record<string, string> = {};
  const maker = join(import.meta.dirname, "make-code-cache.ts");
  for (const name of Object.keys(parts).sort()) {
    const [script, cache] = [`${name}.cjs`, `${name}.cache`];
    if (target.native) {
      await run(process.execPath, [...execArgv, ...reproducible, maker, "make", script, cache], { cwd: work });
      await run(process.execPath, [...execArgv, maker, "check", script, cache], { cwd: work });
    }
    const compress = isCompressed(name);
    for (const file of (target.native ? [script, cache] : [script]).map((asset) => join(work, asset))) {
      if (compress) await writeFile(`${file}.zst`, zstdCompressSync(await readFile(file), { params: { [constants.ZSTD_c_compressionLevel]: 19 } }));
      assets[`${basename(file)}${compress ? ".zst" : ""}`] = compress ? `${file}.zst` : file;
    }
  }
  return assets;
}

/** The runtime without its symbols. Stripping after the injection would break it. Kept by its content. */
async function strippedNode(target: BuildTarget, cache: string): Promise<string> {
  const node = join(target.runtime, "bin/node");
  const hash = createHash("sha256")
    .update(await readFile(node))
    .digest("hex");
  const kept = join(cache, `node-${hash.slice(0, 16)}`);
  if ((await stat(kept).catch(() => undefined)) !== undefined) return kept;
  const fresh = `${kept}.${process.pid}`;
  await run(target.strip, ["-o", fresh, node]);
  await rename(fresh, kept);
  return kept;
}
