import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Step } from "../../scripts/check/steps.ts";
import { type Finished, run } from "../world/program.ts";

const root = resolve(import.meta.dirname, "../..");
const configs = [
  "biome.json",
  ".oxlintrc.json",
  "knip.json",
  "tsconfig.json",
  "package.json",
  "vitest.config.ts",
  "test/running",
  "test/fuzz/fuzz-runs.ts",
  "buf.yaml",
  "buf.gen.yaml",
];
const sound = "export function start(): number {\n  return 1;\n}\n\nstart();\n";

/** A small tree of its own with the real configuration of every rule keeper, and files planted in it. */
export interface PlantedTree extends Disposable {
  readonly root: string;
  run(step: Step): Promise<Finished>;
}

export function plant(files: Readonly<Record<string, string>>, copied: readonly string[] = []): PlantedTree {
  const tree = mkdtempSync(join(tmpdir(), "platform-planted-"));
  for (const name of [...configs, ...copied])
    cpSync(join(root, name), join(tree, name), { recursive: true, filter: (path) => !path.endsWith(".test.ts") });
  symlinkSync(join(root, "node_modules"), join(tree, "node_modules"));
  for (const [path, text] of Object.entries({ "main.ts": sound, ...files })) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), text);
  }
  const bin = join(root, "node_modules/.bin");
  const path = [dirname(process.execPath), bin, process.env.PATH].join(":");
  return {
    root: tree,
    run: (step) =>
      run(step.program === "node" ? process.execPath : join(bin, step.program), step.args, {
        cwd: tree,
        env: { ...step.env, PATH: path, NO_COLOR: "1" },
      }),
    [Symbol.dispose]: () => rmSync(tree, { recursive: true, force: true }),
  };
}
