import { spawn } from "node:child_process";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorText } from "../core/errors/platform-error.ts";
import { standardPath } from "./run-command.ts";
import { UpgradeError } from "./tick/upgrade-error.ts";

/** Exit status of `flock` when the lock is held: of util-linux and of busybox, which only knows the short options. */
const taken = 1;
/** Delay between attempts, ms: a check of the lock takes a few of these. */
const lookMs = 300;

/**
 * One run at a time. A kernel lock: `flock` takes it on our open file, where it stays until this process ends in any
 * way; a kill or a power cut leaves nothing behind. Throws UpgradeError `already_running`, `internal`.
 */
export async function takeLock(folder: string): Promise<AsyncDisposable> {
  const path = join(folder, "lock");
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    // Appending creates without emptying; nothing is ever written.
    const file = await open(path, "a", 0o600);
    try {
      let status = await flock(file.fd, "-x");
      // It may have been a check, which is over at once.
      if (status === taken) {
        await sleep(lookMs);
        status = await flock(file.fd, "-x");
      }
      if (status === 0) return file;
      throw status === taken
        ? new UpgradeError("already_running", "another run of the updater is in progress")
        : new UpgradeError("internal", `could not lock ${path}: flock exited with ${status}`);
    } catch (thrown) {
      await file.close();
      throw thrown;
    }
  } catch (cause) {
    if (cause instanceof UpgradeError) throw cause;
    const denied = cause instanceof Error && "code" in cause && (cause.code === "EACCES" || cause.code === "EPERM");
    if (denied) throw new UpgradeError("internal", `could not lock ${path}: only root may run the updater`, { cause });
    throw new UpgradeError("internal", `could not lock ${path}: ${errorText(cause)}`, { cause });
  }
}

/** Whether a run holds the lock, as far as this user can see. Creates no file. Never throws. */
export async function runInProgress(folder: string): Promise<boolean> {
  try {
    await using file = await open(join(folder, "lock"), "r");
    return (await flock(file.fd, "-s")) === taken;
  } catch {
    return false;
  }
}

/** `-s`: shared with other checks. */
function flock(fd: number, how: "-x" | "-s"): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn("flock", [how, "-n", "3"], {
      env: { PATH: standardPath },
      stdio: ["ignore", "ignore", "ignore", fd],
      timeout: 10_000,
    });
    child.once("error", reject);
    child.once("close", (status) => resolve(status ?? -1));
  });
}
