import { run } from "./run.ts";

export interface GlibcNeed {
  readonly major: number;
  readonly minor: number;
  /** The symbol that needs it, with its version. */
  readonly symbol: string;
}

/** The newest version of the C library that a program or a library needs. */
export async function newestGlibc(file: string): Promise<GlibcNeed> {
  let newest: GlibcNeed = { major: 0, minor: 0, symbol: "" };
  for (const [, major, minor, name] of (await run("objdump", ["-T", file])).matchAll(/\(?GLIBC_(\d+)\.(\d+)(?:\.\d+)?\)?\s+(\S+)$/gm)) {
    const need = { major: Number(major), minor: Number(minor), symbol: `${name}@GLIBC_${major}.${minor}` };
    if (need.major > newest.major || (need.major === newest.major && need.minor > newest.minor)) newest = need;
  }
  if (newest.major === 0) throw new Error(`${file}: objdump listed no symbol of the C library; its output may have changed`);
  return newest;
}
