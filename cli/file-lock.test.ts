import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { withFileLock } from "./file-lock.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-file-lock-"));
});
afterAll(async () => await rm(folder, { recursive: true }));

test("one at a time, also past the lock of a process that is gone", async () => {
  const path = join(folder, "one");
  const child = spawn("true");
  await once(child, "exit");
  await writeFile(path, `${child.pid} ${hostname()}`);
  let inside = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    inside += 1;
    most = Math.max(most, inside);
    await access(path);
    inside -= 1;
  };
  await Promise.all(Array.from({ length: 12 }, () => withFileLock(path, work)));
  expect(most).toBe(1);
  expect((await readdir(folder)).filter((name) => name.startsWith("one"))).toEqual([]);
});

test("a lock that stays taken is reported with its file; work that fails gives it back", async () => {
  const path = join(folder, "two");
  await withFileLock(path, async () => {
    await expect(withFileLock(path, async () => {}, 0)).rejects.toMatchObject({ code: "timeout", message: expect.stringContaining(path) });
  });
  await expect(withFileLock(path, () => Promise.reject(new Error("x")))).rejects.toThrow("x");
  expect(await withFileLock(path, async () => 1)).toBe(1);
});

test("a lock of another machine is left alone until it is old", async () => {
  const path = join(folder, "three");
  await writeFile(path, "1 another-machine");
  await expect(withFileLock(path, async () => {}, 0)).rejects.toMatchObject({ code: "timeout" });
  const old = new Date(Date.now() - 120_000);
  await utimes(path, old, old);
  expect(await withFileLock(path, async () => 1)).toBe(1);
});

test("a lock without a name in it, as kubectl makes them, is left alone until it is old", async () => {
  const path = join(folder, "four");
  await writeFile(path, "", { mode: 0 });
  await expect(withFileLock(path, async () => {}, 0)).rejects.toMatchObject({ code: "timeout" });
  const old = new Date(Date.now() - 120_000);
  await utimes(path, old, old);
  expect(await withFileLock(path, async () => 1)).toBe(1);
});

test("without a folder it says so", async () => {
  await expect(withFileLock(join(folder, "none", "lock"), async () => {})).rejects.toMatchObject({ code: "invalid" });
  await writeFile(join(folder, "file"), "");
  await expect(withFileLock(join(folder, "file", "lock"), async () => {})).rejects.toMatchObject({ code: "invalid" });
});
