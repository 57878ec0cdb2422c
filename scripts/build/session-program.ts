import { accessSync, chmodSync, closeSync, constants, mkdtempSync, openSync, rmdirSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { getRawAsset, isSea } from "node:sea";
import { temporaryFolders } from "./load-native.ts";

/*
 * Part of the executable, not of the build: provides its program `session-start`.
 */

let opened: number | undefined;

/** Its descriptor, open for as long as this process lives. Throws when the host does not allow running it from any folder. */
export function sessionProgram(): number | undefined {
  if (!isSea()) return undefined;
  if (opened !== undefined) return opened;
  const failures: unknown[] = [];
  for (const folder of temporaryFolders()) {
    try {
      opened = placeIn(folder);
      return opened;
    } catch (failure) {
      failures.push(failure);
    }
  }
  throw new AggregateError(failures, "could not run session-start from any temporary folder");
}

/** The file is unlinked, so it cannot be replaced. A file that is open for writing cannot be run. */
function placeIn(folder: string): number {
  const own = mkdtempSync(join(folder, "platform-"));
  const name = join(own, "session-start");
  let writing: number | undefined;
  let reading: number | undefined;
  try {
    writing = openSync(name, "wx", 0o500);
    reading = openSync(name, "r");
    chmodSync(name, 0o500);
    unlinkSync(name);
    const bytes = new Uint8Array(getRawAsset("session-start"));
    for (let at = 0; at < bytes.length; ) at += writeSync(writing, bytes, at);
    // The kernel reports this also for a folder from which nothing may be executed.
    accessSync(`/proc/self/fd/${reading}`, constants.X_OK);
    return reading;
  } catch (thrown) {
    if (reading !== undefined) closeSync(reading);
    throw thrown;
  } finally {
    if (writing !== undefined) closeSync(writing);
    rmdirSync(own);
  }
}
