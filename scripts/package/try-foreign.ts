import { stat } from "node:fs/promises";
import type { BuildArch } from "../build/build-target.ts";
import { run } from "../build/run.ts";

const emulators = {
  arm64: { program: "/usr/bin/qemu-aarch64-static", libraries: "/usr/aarch64-linux-gnu" },
  x64: { program: "/usr/bin/qemu-x86_64-static", libraries: "/usr/x86_64-linux-gnu" },
} as const;

/** Starts executables of another machine in an emulator, where there is one. A sentence on how it went; throws when one fails. */
export async function tryForeign(arch: BuildArch, files: readonly string[], version: string): Promise<string> {
  const { program, libraries } = emulators[arch];
  for (const path of [program, libraries]) {
    if ((await stat(path).catch(() => undefined)) === undefined) return `not started here: there is no ${path}`;
  }
  for (const file of files) {
    const said = (await run(program, ["-L", libraries, file, "version"])).trim();
    if (!said.endsWith(` ${version}`)) throw new Error(`${file} says "${said}" instead of its version ${version}`);
  }
  return "started in an emulator, they say their version";
}
