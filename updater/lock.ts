import { spawn } from "node:child_process";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorText } from "../core/errors/platform-error.ts";
import { standardPath } from "./standard-path.ts";
import { UpgradeError } from "./upgrade-error.ts";

/** What `flock` exits with when another has the lock: of util-linux and of busybox, which only knows the short options. */
const taken = 1;
/** A look at the lock takes a few of these, ms. */
const lookMs = 300;

/**
 * One run at a time. The lock is the kernel's: `flock` takes it on our open file, where it stays until this process ends, however it
 * ends; a kill or a power cut leaves nothing behind. Throws UpgradeError `already_running`, `internal`.
 */
export async function takeLock(folder: string): Promise<AsyncDisposable> {
  const path = join(folder, "lock");
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    // Appending creates without emptying; nothing is ever written.
    const file = await open(path, "a", 0o600);
    try {
      let status = await flock(file.fd, "-x");
      // It may have been a look, which is over at once.
      if (status === taken) {
        await sleep(lookMs);
        status = await flock(file.fd, "-x");
      }
      if (status === 0) return file;
      throw status === taken
        ? new UpgradeError("already_running", "another run of the updater is in progress")
        : new UpgradeError("internal", `${path} cannot be locked: flock exits with ${status}`);
    } catch (thrown) {
      await file.close();
      throw thrown;
    }
  } catch (cause) {
    if (cause instanceof UpgradeError) throw cause;
    const denied = cause instanceof Error && "code" in cause && (cause.code === "EACCES" || cause.code === "EPERM");
    if (denied) throw new UpgradeError("internal", `${path} cannot be locked: only root may run the updater`, { cause });
    throw new UpgradeError("internal", `${path} cannot be locked: ${errorText(cause)}`, { cause });
  }
}

/** Whether a run holds the lock, as far as this user can tell. Makes no file. Never throws. */
export async function runInProgress(folder: string): Promise<boolean> {
  try {
    await using file = await open(join(folder, "lock"), "r");
    return (await flock(file.fd, "-s")) === taken;
  } catch {
    return false;
  }
}

/** `-s`: shared with others who look. */
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
