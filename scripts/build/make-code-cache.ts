import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { setFlagsFromString } from "node:v8";
import { Script } from "node:vm";

/*
 * make-code-cache.ts make part.cjs part.cache: loads a part of the executable, and keeps V8's compiled code.
 * make-code-cache.ts check part.cjs part.cache: fails when V8 would reject it; run with the executable's own options.
 */

// As main.ts does before it loads a part.
setFlagsFromString("--initial-old-space-size=0");
const [task = "", source = "", cache = ""] = process.argv.slice(2);
const name = source.replace(/^.*\//, "");
const text = readFileSync(source, "latin1");
if (task === "check") {
  const { cachedDataRejected } = new Script(text, { filename: name, cachedData: readFileSync(cache) });
  if (cachedDataRejected !== false) throw new Error(`${name}: V8 rejects its code cache`);
  process.exit(0);
}
const script = new Script(text, { filename: name });
const module: { exports: { load?: () => Promise<void>; run?: (args: readonly string[]) => Promise<number> } } = { exports: {} };
script.runInThisContext()(module.exports, createRequire(process.execPath), module, process.execPath, dirname(process.execPath));
process.stdout.write = (...values: unknown[]) => {
  const done = values.at(-1);
  if (typeof done === "function") done();
  return true;
};
await module.exports.run?.(["--help"]);
await module.exports.load?.();
writeFileSync(cache, script.createCachedData());
// Handles opened by loading do not matter any more.
process.exit(0);
