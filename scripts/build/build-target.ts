import { join } from "node:path";
import { fetchLocked } from "./fetch-locked.ts";

export type BuildArch = "x64" | "arm64";

/** Oldest C library that the executables run on. The prebuilt terminal module for arm64 needs a newer one than everything else. */
export const oldestGlibc: Readonly<Record<BuildArch, readonly [number, number]>> = { x64: [2, 28], arm64: [2, 34] };

/** The machine that an executable is built for: its runtime, its terminal module, and the tools that make and read its files. */
export interface BuildTarget {
  readonly arch: BuildArch;
  /** The unpacked package of the runtime: bin/node, include/node. */
  readonly runtime: string;
  readonly pty: string;
  readonly strip: string;
  readonly gcc: string;
  readonly gxx: string;
  /** Whether its code can run while building; otherwise there is no code cache. */
  readonly native: boolean;
  readonly oldestGlibc: readonly [number, number];
}

/** The target of this machine from node_modules; another one from the registry, checked against the lock file and kept in `cache`. */
export async function buildTarget(root: string, cache: string, arch: BuildArch): Promise<BuildTarget> {
  const names = { runtime: `node-linux-${arch}`, pty: `@lydell/node-pty-linux-${arch}` };
  const native = arch === process.arch;
  const folder = (name: string) => (native ? join(root, "node_modules", name) : fetchLocked(root, cache, name));
  const prefix = native ? "" : `${arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu-`;
  const tools = { strip: `${prefix}strip`, gcc: `${prefix}gcc`, gxx: `${prefix}g++` };
  const runtime = await folder(names.runtime);
  return { arch, runtime, pty: join(await folder(names.pty), "pty.node"), ...tools, native, oldestGlibc: oldestGlibc[arch] };
}

/** The target of this machine. */
export async function ownTarget(root: string): Promise<BuildTarget> {
  return await buildTarget(root, join(root, ".cache/build"), process.arch === "arm64" ? "arm64" : "x64");
}
