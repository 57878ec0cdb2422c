import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { replacePidFile, takePidFile, usablePidFile } from "./pid-file.ts";

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "platform-pid-"));
});
afterEach(() => rm(dir, { recursive: true }));

test("a pid file is replaced regardless of its owner, in one step, and removed only by its last owner", async () => {
  const file = join(dir, "p.pid");
  await writeFile(file, "1\n");
  {
    await using _own = await replacePidFile(file);
    expect(await readFile(file, "utf8")).toBe(`${process.pid}\n`);
    expect(await readdir(dir)).toEqual(["p.pid"]);
  }
  expect(await readdir(dir)).toEqual([]);
  {
    await using _own = await takePidFile(file);
    await writeFile(file, "1\n");
  }
  expect(await readFile(file, "utf8")).toBe("1\n");
});

test("a pid file that cannot be written is reported", async () => {
  await expect(replacePidFile(join(dir, "missing/p.pid"))).rejects.toMatchObject({ code: "unavailable" });
});

test("the runtime directory stands in where this user may not write", async () => {
  const locked = join(dir, "locked");
  await mkdir(locked);
  await chmod(locked, 0o500);
  const file = join(locked, "platform.pid");
  const mayWrite = process.getuid?.() === 0;
  expect(usablePidFile(file, "/run/platform")).toBe(mayWrite ? file : "/run/platform/platform.pid");
  expect(usablePidFile(file, undefined)).toBe(file);
  expect(usablePidFile(join(dir, "missing/p.pid"), "/run/platform")).toBe(join(dir, "missing/p.pid"));
  await chmod(locked, 0o700);
});
