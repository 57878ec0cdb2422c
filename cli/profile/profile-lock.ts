import { access } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { withFileLock } from "../file-lock.ts";

/*
 * ~/.tsh/profiles.lock: one tsh at a time changes profiles and certificates. Readers take no lock, because each kubectl is one of them: what they read is
 * replaced in two steps at most, without a pause between, and they read again when they came between those.
 */

/** Time limit for the other programs that change profiles, ms: forty kubectl at once may store certificates. */
const waitMs = 30_000;

/** Runs work that changes profiles, alone. Throws `timeout`, `invalid`, and what `work` throws. */
export async function changingProfiles<T>(home: string, work: () => Promise<T>): Promise<T> {
  return await withFileLock(lockOf(home), work, waitMs);
}

/** Runs work that only removes files, alone. It runs without the lock when the lock file cannot be created, as on a full disk. */
export async function removingFromProfiles<T>(home: string, work: () => Promise<T>): Promise<T> {
  let isBegun = false;
  const begin = async (): Promise<T> => {
    isBegun = true;
    return await work();
  };
  try {
    return await changingProfiles(home, begin);
  } catch (thrown) {
    if (isBegun || !(thrown instanceof PlatformError) || thrown.code !== "invalid") throw thrown;
    return await work();
  }
}

/** How often something is read that is being replaced at this moment, and the delay between, ms. */
const tries = 20;
const retryMs = 20;
/** How often without a sign of that: the change may be over by now, and another one. */
const leastTries = 3;

/** Reads, and reads again when that fails while another program changes profiles, or has just done so. Throws what `read` throws. */
export async function readingProfiles<T>(home: string, read: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count += 1) {
    try {
      return await read();
    } catch (thrown) {
      const isReplaced = thrown instanceof PlatformError && thrown.code === "conflict";
      if (count >= tries || (count >= leastTries && !isReplaced && !(await isChanging(home)))) throw thrown;
      if (count > 1) await sleep(retryMs);
    }
  }
}

async function isChanging(home: string): Promise<boolean> {
  return await access(lockOf(home)).then(
    () => true,
    () => false,
  );
}

function lockOf(home: string): string {
  return join(home, "profiles.lock");
}
