import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { writeSecrets } from "./secrets.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "secrets-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const at = (name: string): string => join(dir, name);
const textOf = (name: string): string => readFileSync(at(name), "utf8");

test("a key and its certificate replace those before, and a link", async () => {
  writeFileSync(at("a.key"), "old", { mode: 0o644 });
  symlinkSync("/etc/passwd", at("a.crt"));
  await writeSecrets([
    { path: at("a.key"), text: "key" },
    { path: at("a.crt"), text: "certificate" },
  ]);
  expect(readdirSync(dir).sort()).toEqual(["a.crt", "a.key"]);
  expect([textOf("a.key"), textOf("a.crt"), statSync(at("a.key")).mode & 0o777, statSync(at("a.crt")).mode & 0o777]).toEqual([
    "key",
    "certificate",
    0o600,
    0o600,
  ]);
});

test("a certificate that cannot be written leaves the key before", async () => {
  writeFileSync(at("a.key"), "old");
  const files = [
    { path: at("a.key"), text: "key" },
    { path: at("c".repeat(250)), text: "certificate" },
  ];
  await expect(writeSecrets(files)).rejects.toMatchObject({ code: "invalid", hint: expect.stringContaining("nothing was replaced") });
  expect([readdirSync(dir), textOf("a.key")]).toEqual([["a.key"], "old"]);
});

test("a name that cannot be taken is reported with those that were", async () => {
  for (const name of ["a.key", "a.cas"]) writeFileSync(at(name), "old");
  mkdirSync(at("a.crt"));
  const files = ["a.key", "a.crt", "a.cas"].map((name) => ({ path: at(name), text: "new" }));
  const hint = expect.stringContaining(`${at("a.key")}: replaced; ${at("a.crt")}, ${at("a.cas")}: not replaced`);
  await expect(writeSecrets(files)).rejects.toMatchObject({ code: "invalid", hint });
  expect([readdirSync(dir).sort(), textOf("a.key"), textOf("a.cas")]).toEqual([["a.cas", "a.crt", "a.key"], "new", "old"]);
  await expect(writeSecrets(files.slice(1))).rejects.toMatchObject({ hint: expect.stringContaining("nothing was replaced") });
});

test("Ctrl-C between two files replaces none, and leaves none", async () => {
  writeFileSync(at("a.key"), "old");
  // The second file's text is where the signal comes: the first one is written by then.
  const script = `
    const { writeSecrets } = await import(${JSON.stringify(new URL("secrets.ts", import.meta.url).href)});
    const second = { path: ${JSON.stringify(at("a.crt"))}, get text() { process.kill(process.pid, "SIGINT"); return "certificate"; } };
    const files = [{ path: ${JSON.stringify(at("a.key"))}, text: "key" }, second];
    await writeSecrets(files);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "ignore" });
  expect(await once(child, "exit")).toEqual([null, "SIGINT"]);
  expect([readdirSync(dir), textOf("a.key")]).toEqual([["a.key"], "old"]);
});
