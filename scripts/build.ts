import { copyFile, mkdir, rename, rm, stat, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { bundle } from "./build/bundle.ts";
import { compileAddon, compileMemoryAddon } from "./build/compile-addon.ts";
import { makeExecutable } from "./build/make-executable.ts";
import { newestGlibc } from "./build/newest-glibc.ts";

/*
 * Builds dist/platform and its links tsh and tctl, for the machine it runs on. Needs g++, binutils and `npm ci`; no network.
 * Two builds of one tree are byte-identical (test/stories/executable.test.ts).
 */

const root = resolve(import.meta.dirname, "..");
/** Most that the executable may be, bytes. */
const maxSize = 115_000_000;
/** Oldest C library that the executable runs on. */
const oldestGlibc = [2, 28] as const;

async function build(dist: string): Promise<void> {
  const cache = join(root, ".cache/build");
  await mkdir(cache, { recursive: true });
  await mkdir(dist, { recursive: true });
  const work = join(cache, `work-${process.pid}`);
  await mkdir(work);
  try {
    const { main, parts } = await bundle(root, work);
    const sshcrypto = await compileAddon(root, join(work, "sshcrypto.node"));
    const memory = await compileMemoryAddon(root, join(work, "memory.node"));
    const pty = join(root, `node_modules/@lydell/node-pty-linux-${process.arch}/pty.node`);
    const assets = { "pty.node": pty, "sshcrypto.node": sshcrypto, "memory.node": memory };
    const made = await makeExecutable({ root, work, cache, main, parts, assets });
    for (const file of [made, ...Object.values(assets)]) await checkGlibc(file);
    const { size } = await stat(made);
    if (size > maxSize) throw new Error(`${made} has ${size} bytes; at most ${maxSize} are allowed`);
    // Two steps: dist may be on another file system, and a running program's file is replaced, not written over.
    await copyFile(made, join(dist, ".platform.new"));
    await rename(join(dist, ".platform.new"), join(dist, "platform"));
    for (const name of ["tsh", "tctl"]) await link(dist, name);
    process.stdout.write(`built ${join(dist, "platform")}: ${(size / 1e6).toFixed(1)} MB\n`);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function link(dist: string, name: string): Promise<void> {
  await rm(join(dist, name), { force: true });
  await symlink("platform", join(dist, name));
}

async function checkGlibc(file: string): Promise<void> {
  const newest = await newestGlibc(file);
  const [major, minor] = oldestGlibc;
  if (newest.major > major || (newest.major === major && newest.minor > minor)) {
    throw new Error(`${file} needs ${newest.symbol}, newer than glibc ${oldestGlibc.join(".")}`);
  }
}

await build(resolve(process.argv[2] ?? join(root, "dist")));
