import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runInProgress, takeLock } from "./lock.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-updater-lock-"));
});
afterAll(async () => await rm(folder, { recursive: true }));

test("one at a time; the next as soon as it is free", async () => {
  const place = join(folder, "a/b");
  {
    await using _first = await takeLock(place);
    await expect(takeLock(place)).rejects.toMatchObject({ reason: "already_running" });
    expect(await runInProgress(place)).toBe(true);
  }
  expect(await runInProgress(place)).toBe(false);
  await using _second = await takeLock(place);
});

test("checking the lock creates no file, and does not block other runs", async () => {
  const place = join(folder, "looked-at");
  expect(await runInProgress(place)).toBe(false);
  await expect(access(join(place, "lock"))).rejects.toThrow();
  await (await takeLock(place))[Symbol.asyncDispose]();
  const [lock, ...looks] = await Promise.all([takeLock(place), ...Array.from({ length: 4 }, () => runInProgress(place))]);
  expect(looks).toHaveLength(4);
  await lock[Symbol.asyncDispose]();
});

test("of two simultaneous attempts one succeeds", async () => {
  const place = join(folder, "race");
  const all = await Promise.allSettled(Array.from({ length: 8 }, () => takeLock(place)));
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const one of all) if (one.status === "fulfilled") await one.value[Symbol.asyncDispose]();
});

test("a run that is killed leaves nothing behind", async () => {
  const place = join(folder, "killed");
  const program = `const { takeLock } = await import(${JSON.stringify(join(import.meta.dirname, "lock.ts"))});
    globalThis.lock = await takeLock(${JSON.stringify(place)}); console.log("locked"); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  await expect(takeLock(place)).rejects.toMatchObject({ reason: "already_running" });
  child.kill("SIGKILL");
  await once(child, "exit");
  await using _next = await takeLock(place);
});

test("a lock that cannot be taken reports the reason", async () => {
  await expect(takeLock("/dev/null/x")).rejects.toMatchObject({ reason: "internal" });
});
