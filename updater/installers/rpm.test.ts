import { lstat, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { hasDamage, parseRpmEntries, removeLeftovers } from "./rpm.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-leftovers-"));
});
afterEach(() => rm(folder, { recursive: true }));

const answer = (status: number, stdout: string) => async () => ({ ended: "exit" as const, status, stdout, tail: "" });
const listing = (...names: string[]) => answer(0, `${names.map((name) => join(folder, name)).join("\n")}\n`);

test("temporary files of rpm beside a package's files are removed, and nothing else", async () => {
  for (const name of ["platform", "platform;6b01e19b", "other;6b01e19b", "platform;6b01e1", "platform;6b01e19b.bak"])
    await writeFile(join(folder, name), "x");
  await symlink("platform", join(folder, "tctl;6b01e19c"));
  await mkdir(join(folder, "platform;00000000"));
  expect(await removeLeftovers("platform-ent", listing("platform", "tctl"))).toBe(true);
  expect((await readdir(folder)).sort()).toEqual(["other;6b01e19b", "platform", "platform;00000000", "platform;6b01e1", "platform;6b01e19b.bak"]);
  expect((await lstat(join(folder, "platform"))).size).toBe(1);
  expect(await removeLeftovers("platform-ent", listing("platform", "tctl"))).toBe(false);
});

test("a package that is not installed, and a missing folder, have none", async () => {
  const missing = answer(1, "package platform-ent is not installed\n");
  expect(await removeLeftovers("platform-ent", missing)).toBe(false);
  expect(await removeLeftovers("platform-ent", listing("gone/platform"))).toBe(false);
});

test("of two entries the one that was installed later comes last", () => {
  const text = `1795190000|1795190010|1.1.0|platform-ent-1.1.0-1.x86_64|300020
1795100000|1795100010|1.0.0|platform-ent-1.0.0-1.x86_64|300010
`;
  expect(parseRpmEntries(text)).toEqual([
    { version: "1.0.0", full: "platform-ent-1.0.0-1.x86_64", bytes: 300_010 },
    { version: "1.1.0", full: "platform-ent-1.1.0-1.x86_64", bytes: 300_020 },
  ]);
  expect(parseRpmEntries("")).toEqual([]);
});

test.for([
  ["S.5......    /usr/bin/platform", true],
  ["..5......    /usr/lib/platform/pty.node", true],
  ["missing     /usr/bin/platform", true],
  ["S.5......  c /etc/default/platform", false],
  ["missing   c /etc/default/platform", false],
  [".........  g /run/platform", false],
  ["", false],
] as const)("%j is damage: %s", ([line, damage]) => {
  expect(hasDamage(`${line}\n`)).toBe(damage);
});
