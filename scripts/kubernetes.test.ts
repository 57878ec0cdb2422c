import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { output } from "../test/world/program.ts";

/** Folders' names for the programs and for the specs, by a script with this text. */
async function foldersOf(text: string): Promise<readonly [programs: string, specs: string]> {
  const dir = await mkdtemp(join(tmpdir(), "platform-recipes-"));
  try {
    const script = join(dir, "kubernetes.sh");
    await writeFile(script, text);
    await chmod(script, 0o755);
    const where = async (...args: string[]): Promise<string> =>
      (await output(script, ["where", ...args], { env: { PLATFORM_KUBERNETES_CACHE: "/kept" } })).trim();
    return [await where(), await where("conformance")];
  } finally {
    await rm(dir, { recursive: true });
  }
}

test("a changed recipe is compiled again, and that one alone", async () => {
  const text = await readFile(join(import.meta.dirname, "kubernetes.sh"), "utf8");
  const [programs, specs] = await foldersOf(text);
  expect(programs).toMatch(/^\/kept\/kubernetes-[0-9a-f]{12}$/);
  expect(specs).toMatch(/^\/kept\/kubernetes-e2e-[\d.]+-[0-9a-f]{12}$/);
  // Where a line is put in, and whose folder stays.
  const cases = [
    ["compile_programs() {", [false, true]],
    ["compile_conformance() {", [true, false]],
    ["mkdir -p go/src/k8s.io source", [false, false]],
    ["set -euo pipefail", [true, true]],
  ] as const;
  for (const [line, stays] of cases) {
    expect(text).toContain(`\n${line}\n`);
    const changed = await foldersOf(text.replace(`\n${line}\n`, `\n${line}\n  true\n`));
    expect([changed[0] === programs, changed[1] === specs], line).toEqual(stays);
  }
});
