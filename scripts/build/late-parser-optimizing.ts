import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Plugin } from "esbuild";

/** V8's default of `--wasm-tiering-budget`: bytes of WebAssembly, about, that a function executes before the optimizing compiler takes it. */
export const defaultBudget = 13_000_000;
/** The first kilobyte of headers exhausts the default. This takes some 80 of them: a connection that is really in use. */
const parserBudget = 1_000_000_000;

const made = "new WebAssembly.Module(";

/**
 * undici's parser is one large function of WebAssembly. V8 gave it to its optimizing compiler during the first answer: 80 to 160 ms of processor time and 22 MiB,
 * in each agent that starts and each run of the updater. A module takes the budget that is set while it is made, so ours is set for that moment alone: an
 * option that differs from its default keeps V8 from taking code caches (`takeCodeCaches`).
 */
export const lateParserOptimizing: Plugin = {
  name: "late-parser-optimizing",
  setup: (hooks) =>
    hooks.onLoad({ filter: /\/undici\/lib\/dispatcher\/client-h1\.js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      if (!text.includes(made)) throw new Error(`${path} makes its parser in another way than before: see scripts/build/late-parser-optimizing.ts`);
      return { contents: `${text.replaceAll(made, "moduleWithBudget(")}\n${moduleWithBudget}`, resolveDir: dirname(path) };
    }),
};

const moduleWithBudget = `function moduleWithBudget(bytes) {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  setFlagsFromString("--wasm-tiering-budget=${parserBudget}");
  try {
    return new WebAssembly.Module(bytes);
  } finally {
    setFlagsFromString("--wasm-tiering-budget=${defaultBudget}");
  }
}`;
