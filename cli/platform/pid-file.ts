import { accessSync, constants } from "node:fs";
import { open, readFile, readlink, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";

/**
 * Takes a pid file for this process; disposing removes it. A file of a process that is gone is replaced.
 * Throws `conflict` when that process is running.
 */
export async function takePidFile(file: string): Promise<AsyncDisposable> {
  for (let attempt = 0; attempt < 3; attempt++) {
    if (await create(file)) return { [Symbol.asyncDispose]: () => release(file) };
    const pid = await readPid(file);
    if (pid !== undefined && pid !== process.pid && (await isOurs(pid))) {
      throw new PlatformError("conflict", `platform is already running as process ${pid} (${file})`, {
        hint: "stop it first, or choose another --pid-file",
      });
    }
    await unlink(file).catch(ignoreMissing);
  }
  throw new PlatformError("conflict", `${file} was taken by another process that starts at the same time`);
}

/** Makes the file this process's, regardless of its owner, in one step: a reader finds the old number or the new one. */
export async function replacePidFile(file: string): Promise<AsyncDisposable> {
  const fresh = `${file}.${process.pid}`;
  try {
    await unlink(fresh).catch(ignoreMissing);
    await create(fresh);
    await rename(fresh, file);
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    throw new PlatformError("unavailable", `could not write the pid file ${file}: ${errorText(cause)}`, { cause });
  }
  return { [Symbol.asyncDispose]: () => release(file) };
}

/**
 * Path of the pid file: `file`, or a file in the service manager's runtime directory when this user may not write
 * it (an agent that does not run as root, and /run/platform.pid).
 */
export function usablePidFile(file: string, runtimeDirectory: string | undefined): string {
  if (runtimeDirectory === undefined || mayWrite(dirname(file))) return file;
  return join(runtimeDirectory, basename(file));
}

function mayWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    // A missing or odd folder is reported when the file is written.
    return code !== "EACCES" && code !== "EROFS" && code !== "EPERM";
  }
}

async function create(file: string): Promise<boolean> {
  try {
    await using handle = await open(file, "wx", 0o644);
    await handle.writeFile(`${process.pid}\n`);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw new PlatformError("unavailable", `could not write the pid file ${file}: ${errorText(cause)}`, { cause });
  }
}

async function readPid(file: string): Promise<number | undefined> {
  const text = await readFile(file, "latin1").catch(() => "");
  return /^\d{1,10}\s*$/.test(text) ? Number(text) : undefined;
}

/** Whether the process runs and is this program: a number reused by another program is stale. */
async function isOurs(pid: number): Promise<boolean> {
  try {
    const program = await readlink(`/proc/${pid}/exe`);
    return basename(program).replace(/ \(deleted\)$/, "") === basename(process.execPath);
  } catch (cause) {
    // A process whose link is unreadable belongs to another user: it runs, and must not be overwritten.
    return (cause as NodeJS.ErrnoException).code === "EACCES";
  }
}

async function release(file: string): Promise<void> {
  if ((await readPid(file)) === process.pid) await unlink(file).catch(ignoreMissing);
}

function ignoreMissing(cause: NodeJS.ErrnoException): void {
  if (cause.code !== "ENOENT") throw new PlatformError("unavailable", `could not remove the pid file: ${cause.message}`, { cause });
}
