import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { keptFolder, keptPath, testCache } from "./kept-folder.ts";
import { output } from "./program.ts";

const recipe = { name: "example", contents: ["a file"] };

async function emptyCache(): Promise<string> {
  const cache = await mkdtemp(join(tmpdir(), "platform-kept-"));
  onTestFinished(() => rm(cache, { recursive: true, force: true }));
  return cache;
}

/** A process of its own, as each story file has; it has not looked at the folder yet. Prints how often it made the folder. */
async function useElsewhere(cache: string): Promise<string> {
  const script = `
import { writeFile } from "node:fs/promises";
import { keptFolder } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "kept-folder.ts")).href)};
let made = 0;
await keptFolder(${JSON.stringify(recipe)}, async (dir) => { made++; await writeFile(dir + "/file", "whole"); }, { cache: ${JSON.stringify(cache)} });
console.log(made);`;
  return (await output(process.execPath, ["--input-type=module", "--eval", script])).trim();
}

const contentsOf = (cache: string): Promise<string> => readFile(join(keptPath(recipe, cache), "file"), "utf8");

test("of several processes at once, one makes it; later ones take it", async () => {
  const cache = await emptyCache();
  expect((await Promise.all([useElsewhere(cache), useElsewhere(cache), useElsewhere(cache)])).toSorted()).toEqual(["0", "0", "1"]);
  expect(await contentsOf(cache)).toBe("whole");
  expect(await useElsewhere(cache)).toBe("0");
});

test.each([
  ["a file is gone", (path: string) => rm(join(path, "file"))],
  ["a file is empty", (path: string) => writeFile(join(path, "file"), "")],
  ["its list is gone", (path: string) => rm(`${path}.list`)],
  ["its list is empty", (path: string) => writeFile(`${path}.list`, "")],
  ["its list was cut", (path: string) => writeFile(`${path}.list`, "f 644 5 file\n")],
  ["the folder is gone", (path: string) => rm(path, { recursive: true })],
])("one that is damaged is made again: %s", async (_, damage) => {
  const cache = await emptyCache();
  await useElsewhere(cache);
  await damage(keptPath(recipe, cache));
  expect(await useElsewhere(cache)).toBe("1");
  expect(await contentsOf(cache)).toBe("whole");
});

test("one that is made again keeps its files for those that use them", async () => {
  const cache = await emptyCache();
  await useElsewhere(cache);
  await rm(`${keptPath(recipe, cache)}.list`);
  expect(await useElsewhere(cache)).toBe("1");
  const [aside = ""] = (await readdir(cache)).filter((name) => name.includes(".aside-"));
  expect(await readFile(join(cache, aside, "file"), "utf8")).toBe("whole");
});

test("an attempt that failed or was killed leaves nothing in the next one", async () => {
  const cache = await emptyCache();
  const half = `${keptPath(recipe, cache)}.half`;
  const fail = async (dir: string): Promise<void> => {
    await writeFile(join(dir, "leftover"), "");
    throw new Error("cut");
  };
  await expect(keptFolder(recipe, fail, { cache })).rejects.toThrow("cut");
  expect(await readdir(half)).toEqual(["leftover"]);
  const released: string[] = [];
  const path = await keptFolder(recipe, (dir) => writeFile(join(dir, "file"), "whole"), {
    cache,
    release: async (dir) => void released.push(dir),
  });
  expect(await readdir(path)).toEqual(["file"]);
  expect(released).toEqual([half]);
});

test("what another recipe made goes when it was not used for a month", async () => {
  const cache = await emptyCache();
  const make = (name: string) => keptFolder({ name, contents: 1 }, (dir) => writeFile(join(dir, "file"), name), { cache });
  const [old, recent] = [await make("old"), await make("recent")];
  const [longAgo, lately] = [31, 29].map((days) => new Date(Date.now() - days * 24 * 3600 * 1000)) as [Date, Date];
  await utimes(`${old}.list`, longAgo, longAgo);
  await utimes(`${recent}.list`, lately, lately);
  await make("new");
  const names = (await readdir(cache)).filter((name) => !name.endsWith(".lock")).map((name) => name.replace(/-[0-9a-f]{12}/, ""));
  expect(names.toSorted()).toEqual(["new", "new.list", "recent", "recent.list"]);
});

test("where the machine's folder cannot be written, the checkout's own is used", async () => {
  const dir = await emptyCache();
  await writeFile(join(dir, "file"), "");
  expect(testCache(join(dir, "file"))).toBe(join(import.meta.dirname, "../../.cache/world/kept"));
  await mkdir(join(dir, "shared"));
  expect(testCache(join(dir, "shared"))).toBe(join(dir, "shared/world"));
});
