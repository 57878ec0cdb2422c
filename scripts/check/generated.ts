import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/* Fails when core/api/generated differs from buf's output for core/api/proto. Run at the root. */

const folder = mkdtempSync(join(tmpdir(), "platform-generated-"));
try {
  execFileSync("buf", ["generate", "--output", folder], { stdio: "inherit" });
  const [fresh, kept] = [join(folder, "core/api/generated"), "core/api/generated"].map(contents) as [Map<string, string>, Map<string, string>];
  const names = [...new Set([...fresh.keys(), ...kept.keys()])];
  const stale = names.filter((name) => fresh.get(name) !== kept.get(name));
  if (names.length === 0) stale.push("nothing was generated");
  if (stale.length > 0) {
    process.stderr.write(`core/api/generated does not match core/api/proto; run: npm run generate\n${stale.join("\n")}\n`);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}

function contents(root: string): Map<string, string> {
  const names = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  return new Map(names.map((name) => [name, readFileSync(join(root, name), "utf8")]));
}
