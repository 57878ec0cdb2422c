import { copyFile, mkdir, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BuildArch, type BuildTarget, buildTarget } from "./build-target.ts";
import { bundle, bundleUpdater } from "./bundle.ts";
import { compileAddon, compileOwnAddon, compileSessionStart } from "./compile-addon.ts";
import { makeExecutable } from "./make-executable.ts";
import { newestGlibc } from "./newest-glibc.ts";
import { run } from "./run.ts";
import { makeUiArchive } from "./web-ui.ts";

export interface BuildRequest {
  readonly root: string;
  readonly dist: string;
  readonly version: string;
  readonly arch: BuildArch;
  /** Ignores programs kept from builds of the same sources. */
  readonly fresh?: boolean;
}

/** A built program. */
export interface BuiltProgram {
  readonly file: string;
  /** Bytes. */
  readonly size: number;
}

/** Maximum size of an executable, bytes. */
const maxSize = 115_000_000;

/** Builds `platform` with its links and its terminal module, and `platform-upgrade`, into `dist`. */
export async function buildPrograms({ root, dist, version, arch, fresh = false }: BuildRequest): Promise<BuiltProgram[]> {
  const cache = join(root, ".cache/build");
  await mkdir(cache, { recursive: true });
  await mkdir(dist, { recursive: true });
  const work = join(cache, `work-${process.pid}-${arch}`);
  await mkdir(work);
  try {
    const target = await strippedPty(await buildTarget(root, cache, arch), work);
    const scratch = { root, version, cache, target, fresh };
    const platform = await buildPlatform({ ...scratch, work: await folder(work, "platform") });
    const updater = await buildUpdater({ ...scratch, work: await folder(work, "platform-upgrade") });
    const built = [await place(target, platform, join(dist, "platform")), await place(target, updater, join(dist, "platform-upgrade"))];
    for (const name of ["tsh", "tctl"]) await link(dist, name);
    // Packages ship it as a file (load-native.ts).
    await replace(target.pty, join(dist, "pty.node"));
    return built;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function strippedPty(target: BuildTarget, work: string): Promise<BuildTarget> {
  const pty = join(work, "pty.node");
  await run(target.strip, ["--strip-unneeded", "-o", pty, target.pty]);
  return { ...target, pty };
}

interface ProgramInput {
  readonly root: string;
  readonly work: string;
  readonly cache: string;
  readonly version: string;
  readonly target: BuildTarget;
  readonly fresh: boolean;
}

async function buildPlatform(input: ProgramInput): Promise<string> {
  const { root, work, target } = input;
  const { main, parts } = await bundle(input);
  const sshcrypto = await compileAddon(root, target, join(work, "sshcrypto.node"));
  const own = (name: "memory.node" | "host.node" | "process.node"): Promise<string> =>
    compileOwnAddon({ root, target, name, output: join(work, name) });
  const programs = {
    "pty.node": target.pty,
    "sshcrypto.node": sshcrypto,
    "memory.node": await own("memory.node"),
    "host.node": await own("host.node"),
    "process.node": await own("process.node"),
    "session-start": await compileSessionStart(root, target, join(work, "session-start")),
  };
  for (const file of Object.values(programs)) await checkGlibc(file, target.oldestGlibc);
  const webUi = join(work, "web-ui.bin");
  await writeFile(webUi, await makeUiArchive(root));
  return await makeExecutable({ ...input, name: "platform", main, parts, assets: { ...programs, "web-ui.bin": webUi } });
}

async function buildUpdater(input: ProgramInput): Promise<string> {
  return await makeExecutable({ ...input, name: "platform-upgrade", main: await bundleUpdater(input), parts: {}, assets: {} });
}

async function place(target: BuildTarget, made: string, file: string): Promise<BuiltProgram> {
  await checkGlibc(made, target.oldestGlibc);
  const { size } = await stat(made);
  if (size > maxSize) throw new Error(`${made} has ${size} bytes; at most ${maxSize} are allowed`);
  await replace(made, file);
  return { file, size };
}

/** Two steps: dist may be on another file system, and a running program's file is replaced, not written over. */
async function replace(source: string, file: string): Promise<void> {
  await copyFile(source, `${file}.new`);
  await rename(`${file}.new`, file);
}

async function folder(parent: string, name: string): Promise<string> {
  await mkdir(join(parent, name));
  return join(parent, name);
}

async function link(dist: string, name: string): Promise<void> {
  await rm(join(dist, name), { force: true });
  await symlink("platform", join(dist, name));
}

async function checkGlibc(file: string, oldest: readonly [number, number]): Promise<void> {
  const newest = await newestGlibc(file);
  const [major, minor] = oldest;
  if (newest.major > major || (newest.major === major && newest.minor > minor)) {
    throw new Error(`${file} needs ${newest.symbol}, newer than glibc ${oldest.join(".")}`);
  }
}
