import { open, readFile, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { errorText, PlatformError } from "../core/errors/platform-error.ts";
import { isAlive } from "../core/processes/is-alive.ts";
import { placeFile } from "./place-file.ts";

/*
 * A lock between programs of ours on one machine: a file that holds `<pid> <host>`, created with its content by link(2) where the file system has that. The
 * lock of a process that is gone is removed under a second one (`<path>.stale`), so that two waiting processes do not both remove it, the later one the lock
 * of the earlier.
 */

/** Delay between attempts, ms. */
const tryMs = 50;
/** A lock of another machine (the home folder may be shared), or of another program, counts as left over after this, ms. */
const foreignMs = 60_000;

/** Runs work while no other process holds this lock. Throws `timeout` when it stays taken for `waitMs`, and what `work` throws. */
export async function withFileLock<T>(path: string, work: () => Promise<T>, waitMs = 10_000): Promise<T> {
  const until = Date.now() + waitMs;
  while (!(await take(path))) {
    if (await isLeftOver(path)) await removeLeftOver(path);
    else if (Date.now() >= until) {
      throw new PlatformError("timeout", `another program holds ${path}`, {
        hint: "wait for it to end; if no tsh or kubectl is running, remove that file",
      });
    } else await sleep(tryMs);
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

/** Whether this process has it now. */
async function take(path: string): Promise<boolean> {
  const own = `${path}.${process.pid}.${process.hrtime.bigint()}`;
  try {
    await using file = await open(own, "wx", 0o600);
    await file.writeFile(`${process.pid} ${hostname()}`);
    await placeFile(own, path);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw new PlatformError("invalid", `could not create ${path}: ${errorText(cause)}`, {
      cause,
      hint: "check the folder, its owner and free space",
    });
  } finally {
    await rm(own, { force: true }).catch(() => {});
  }
}

async function isLeftOver(path: string): Promise<boolean> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  // kubectl's locks cannot be read, and say nothing.
  if (text === undefined) return await isOlder(path, foreignMs);
  const [, pid = "", host = ""] = /^(\d{1,10}) (.*)$/.exec(text) ?? [];
  if (host !== hostname()) return await isOlder(path, foreignMs);
  return !isAlive(Number(pid));
}

async function removeLeftOver(path: string): Promise<void> {
  const guard = `${path}.stale`;
  if (await take(guard)) {
    try {
      if (await isLeftOver(path)) await rm(path, { force: true });
    } finally {
      await rm(guard, { force: true });
    }
  } else if (await isOlder(guard, foreignMs)) await rm(guard, { force: true });
  else await sleep(tryMs);
}

async function isOlder(path: string, ms: number): Promise<boolean> {
  const facts = await stat(path).catch(() => undefined);
  return facts !== undefined && Date.now() - facts.mtimeMs > ms;
}
