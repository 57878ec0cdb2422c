import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { HostAddon } from "../host/host-addon.ts";
import { compiledHostAddon } from "../host/testing/compiled-host-addon.ts";
import { FileLocks } from "./file-lock.ts";

let addon: HostAddon;
let dir: string;
beforeAll(async () => {
  addon = await compiledHostAddon();
  dir = await mkdtemp(join(tmpdir(), "platform-locks-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

test("several share a lock, and only the last is alone with it", () => {
  const locks = new FileLocks(dir, addon);
  const [first, second] = [locks.shared("a"), locks.shared("a")];
  expect(second?.alone()).toBe(false);
  second?.[Symbol.dispose]();
  expect(first?.alone()).toBe(true);
  expect(locks.shared("a")).toBeUndefined();
  first?.[Symbol.dispose]();
  using again = locks.shared("a");
  expect(again?.alone()).toBe(true);
});

test("who wants to be alone waits for the one before", async () => {
  const locks = new FileLocks(dir, addon);
  const first = await locks.exclusive("b");
  let isSecond = false;
  const second = locks.exclusive("b").then((lock) => {
    isSecond = true;
    return lock;
  });
  using other = await locks.exclusive("c");
  expect(isSecond).toBe(false);
  first[Symbol.dispose]();
  (await second)[Symbol.dispose]();
  other[Symbol.dispose]();
});

test("a folder that others can write is not believed", async () => {
  const open = join(dir, "open");
  new FileLocks(open, addon).shared("a")?.[Symbol.dispose]();
  await chmod(open, 0o777);
  expect(() => new FileLocks(open, addon).shared("a")).toThrow("can be written by others");
});
