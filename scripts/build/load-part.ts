import { createRequire } from "node:module";
import { dirname } from "node:path";
import { getAssetKeys, getRawAsset } from "node:sea";
import { constants, Script } from "node:vm";
import { zstdDecompressSync } from "node:zlib";

/*
 * Part of the executable, not of the build: loads one of the parts that main.ts imports dynamically. Each is a script with a
 * code cache of its own, made after one run (make-code-cache.ts), so that start-up compiles almost nothing.
 */

/** More than any script or cache has, bytes: each comes in one piece, in a fifth less time than in pieces of 16 KiB. Only what is written takes memory. */
const chunkSize = 4 * 1024 * 1024;

/** CommonJS: exports, require, module, file name, folder. */
type PartFunction = (...scope: readonly [object, NodeJS.Require, { exports: object }, string, string]) => void;

export function loadPart(name: string): object {
  const script = new Script(asset(`${name}.cjs`).toString("latin1"), {
    filename: `${name}.cjs`,
    cachedData: optionalAsset(`${name}.cache`),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const module = { exports: {} };
  (script.runInThisContext() as PartFunction)(module.exports, createRequire(process.execPath), module, process.execPath, dirname(process.execPath));
  return module.exports;
}

function asset(name: string): Buffer {
  const found = optionalAsset(name);
  if (found === undefined) throw new Error(`this build lacks ${name}`);
  return found;
}

/** Builds for another processor than the builder's have no code cache. */
function optionalAsset(name: string): Buffer | undefined {
  const names = getAssetKeys();
  if (names.includes(name)) return Buffer.from(getRawAsset(name));
  return names.includes(`${name}.zst`) ? zstdDecompressSync(Buffer.from(getRawAsset(`${name}.zst`)), { chunkSize }) : undefined;
}
