import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { build, type Plugin } from "esbuild";
import { expect, test } from "vitest";
import { onlyHttpClient } from "./bundle.ts";
import { defaultBudget, lateParserOptimizing } from "./late-parser-optimizing.ts";

const run = promisify(execFile);
const modules = resolve(import.meta.dirname, "../../node_modules");

/** Asks as often as its argument says for an answer with two kilobytes of headers. */
const script = `import { createServer } from "node:http";
import { Client } from "undici";
const server = createServer((_, answer) => {
  for (let header = 0; header < 20; header += 1) answer.setHeader(\`x-header-\${header}\`, "some-value; of=fifty, characters or more".repeat(2));
  answer.end("whole");
});
server.listen(0, "127.0.0.1", async () => {
  const client = new Client(\`http://127.0.0.1:\${server.address().port}\`);
  for (let asked = 0; asked < Number(process.argv[2]); asked += 1) {
    const answer = await client.request({ method: "GET", path: "/" });
    if ((await answer.body.text()) !== "whole") throw new Error("not whole");
  }
  process.exit();
});`;

test("undici's parser is optimized once it is in use, not for the first answer", async () => {
  const folder = await mkdtemp(join(tmpdir(), "platform-parser-"));
  try {
    await symlink(modules, join(folder, "node_modules"));
    await writeFile(join(folder, "entry.mjs"), script);
    const optimized = async (plugins: Plugin[], answers: number): Promise<boolean> => {
      const outfile = join(folder, "entry.cjs");
      await build({ entryPoints: [join(folder, "entry.mjs")], bundle: true, platform: "node", outfile, plugins, allowOverwrite: true });
      const { stdout } = await run(process.execPath, ["--trace-wasm-compilation-times", "--wasm-sync-tier-up", outfile, String(answers)]);
      return stdout.includes("using TurboFan");
    };
    expect(await optimized([onlyHttpClient], 1)).toBe(true);
    expect(await optimized([onlyHttpClient, lateParserOptimizing], 5)).toBe(false);
    expect(await optimized([onlyHttpClient, lateParserOptimizing], 300)).toBe(true);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("the budget that is set back is V8's own", async () => {
  const { stdout } = await run(process.execPath, ["--v8-options"]);
  expect(stdout).toContain(`default: --wasm-tiering-budget=${defaultBudget}\n`);
});
