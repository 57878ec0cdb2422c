import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { keep, keyOf, takeKept } from "./keep-executable.ts";

const dir = mkdtempSync(join(tmpdir(), "platform-kept-"));
afterAll(() => rmSync(dir, { recursive: true }));

function write(name: string, text: string): string {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
}

test("a key is that of the contents, the names and the facts, and not of the place", async () => {
  const [one, same, other] = [write("one", "text"), write("same", "text"), write("other", "text.")];
  const key = await keyOf({ version: 1 }, { main: one });
  expect(await keyOf({ version: 1 }, { main: same })).toBe(key);
  expect(await keyOf({ version: 1 }, { main: other })).not.toBe(key);
  expect(await keyOf({ version: 2 }, { main: one })).not.toBe(key);
  expect(await keyOf({ version: 1 }, { part: one })).not.toBe(key);
  expect(await keyOf({ version: 1 }, { main: one, part: one })).not.toBe(key);
});

test("what was kept is taken by its key alone, and the last four used are kept", async () => {
  const cache = join(dir, "cache");
  mkdirSync(cache);
  const target = join(dir, "target");
  const at = (digit: number) => ({ cache, name: "platform", key: String(digit).repeat(32) });
  expect(await takeKept(at(1), target)).toBe(false);
  for (const digit of [1, 2, 3, 4]) {
    await keep(at(digit), write("made", `program ${digit}`));
    utimesSync(join(cache, `platform-${at(digit).key}`), digit, digit);
  }
  await keep({ ...at(1), name: "platform-upgrade" }, write("made", "another program"));
  expect(await takeKept(at(1), target)).toBe(true);
  expect(readFileSync(target, "utf8")).toBe("program 1");
  await keep(at(5), write("made", "program 5"));
  expect(await takeKept(at(1), target)).toBe(true);
  expect(await takeKept(at(2), target)).toBe(false);
  expect(readdirSync(cache)).toHaveLength(5);
});
