import { spawn } from "node:child_process";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { errorText } from "../core/errors/platform-error.ts";
import { standardPath } from "./standard-path.ts";
import { UpgradeError } from "./upgrade-error.ts";

/** What `flock` exits with when another has the lock: of util-linux and of busybox, which only knows the short options. */
const taken = 1;

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
      const status = await flock(file.fd);
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

function flock(fd: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn("flock", ["-x", "-n", "3"], {
      env: { PATH: standardPath },
      stdio: ["ignore", "ignore", "ignore", fd],
      timeout: 10_000,
    });
    child.once("error", reject);
    child.once("close", (status) => resolve(status ?? -1));
  });
}
