import { constants } from "node:fs";
import { type FileHandle, open, readlink, realpath } from "node:fs/promises";
import { sep } from "node:path";

/** An open file below the folder of packages. The caller closes the handle. */
export interface PackageFile {
  readonly handle: FileHandle;
  readonly size: number;
  /** Strong: changes whenever the file is written or replaced, even by one of the same size and time. */
  readonly etag: string;
  /** Undefined while the file is so young that it may change again within this second. */
  readonly modified: Date | undefined;
}

/** Maximum age of a file without a reliable modification time, ms. */
const youngMs = 2000;

/**
 * Opens a regular file for reading. Undefined: it does not exist, it lies outside of the folder (by symbolic links), or a name on
 * the way to it begins with a dot. The check applies to the opened file: a link cannot be swapped in between.
 */
export async function openPackage(folder: string, path: string, now: Date): Promise<PackageFile | undefined> {
  let handle: FileHandle | undefined;
  try {
    const root = await realpath(folder);
    // NONBLOCK: a named pipe must not hold a thread.
    handle = await open(`${root}${sep}${path}`, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    const real = await readlink(`/proc/self/fd/${handle.fd}`);
    const stat = await handle.stat({ bigint: true });
    if (stat.isFile() && real.startsWith(root + sep) && !real.slice(root.length).includes(`${sep}.`)) {
      const changed = new Date(Number(stat.ctimeMs));
      const modified = now.getTime() - changed.getTime() < youngMs ? undefined : changed;
      const etag = `"${[stat.size, stat.mtimeNs, stat.ctimeNs, stat.ino].map((one) => one.toString(36)).join("-")}"`;
      return { handle, size: Number(stat.size), etag, modified };
    }
  } catch (thrown) {
    await handle?.close();
    if (isAbsent(thrown)) return undefined;
    throw thrown;
  }
  await handle.close();
  return undefined;
}

const absent = new Set(["ENOENT", "ENOTDIR", "EISDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG", "ENXIO", "ENODEV"]);

function isAbsent(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && absent.has(String(thrown.code));
}
