import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildPrograms } from "./build/build-programs.ts";
import type { BuildArch } from "./build/build-target.ts";
import { ownVersion } from "./build/own-version.ts";

/*
 * build.ts [--version V] [--arch x64|arm64] [--fresh] [DIST]: builds DIST/platform, its links tsh and tctl, and DIST/platform-upgrade.
 * Needs g++, binutils and `npm ci`; no network, except for a foreign architecture, which is fetched once.
 * Two builds of one tree are byte-identical (test/stories/executable.test.ts): one whose scripts, modules and runtime are those of an
 * earlier one is taken from .cache/build, unless --fresh says no.
 */

const root = resolve(import.meta.dirname, "..");
const { values, positionals } = parseArgs({
  options: { version: { type: "string" }, arch: { type: "string", default: process.arch }, fresh: { type: "boolean", default: false } },
  allowPositionals: true,
});
const version = values.version ?? (await ownVersion(root));
const { arch, fresh } = values;
const built = await buildPrograms({ root, dist: resolve(positionals[0] ?? join(root, "dist")), version, arch: knownArch(arch), fresh });
for (const { file, size } of built) process.stdout.write(`built ${file}: ${(size / 1e6).toFixed(1)} MB\n`);

function knownArch(arch: string): BuildArch {
  if (arch === "x64" || arch === "arm64") return arch;
  throw new Error(`--arch is x64 or arm64, not ${arch}`);
}
