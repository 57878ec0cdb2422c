import { accessSync, constants } from "node:fs";
import { open, readFile, readlink, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";

/**
 * Takes a pid file for this process; disposing removes it. A file of a process that is gone is replaced.
 * Throws `conflict` when that process runs.
 */
export async function takePidFile(file: string): Promise<AsyncDisposable> {
  for (let attempt = 0; attempt < 3; attempt++) {
    if (await create(file)) return { [Symbol.asyncDispose]: () => release(file) };
    const pid = await readPid(file);
    if (pid !== undefined && pid !== process.pid && (await isOurs(pid))) {
      throw new PlatformError("conflict", `platform already runs as process ${pid}, says ${file}`, {
        hint: "stop it first, or give another --pid-file",
      });
    }
    await unlink(file).catch(ignoreMissing);
  }
  throw new PlatformError("conflict", `${file} is taken by another process that starts at the same time`);
}

/** Makes the file this process's, whoever's it was, in one step: who reads it meanwhile finds the old number or the new one. */
export async function replacePidFile(file: string): Promise<AsyncDisposable> {
  const fresh = `${file}.${process.pid}`;
  try {
    await unlink(fresh).catch(ignoreMissing);
    await create(fresh);
    await rename(fresh, file);
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    throw new PlatformError("unavailable", `pid file ${file} cannot be written: ${errorText(cause)}`, { cause });
  }
  return { [Symbol.asyncDispose]: () => release(file) };
}

/**
 * Where the pid file goes: `file`, or the runtime directory that the service manager made when this user may not write
 * there (an agent that does not run as root, and /run/platform.pid).
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
    // What is missing or odd is said when the file is written.
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
    throw new PlatformError("unavailable", `pid file ${file} cannot be written: ${errorText(cause)}`, { cause });
  }
}

async function readPid(file: string): Promise<number | undefined> {
  const text = await readFile(file, "latin1").catch(() => "");
  return /^\d{1,10}\s*$/.test(text) ? Number(text) : undefined;
}

/** Whether a process runs and is this program: a number that another program has by now is stale. */
async function isOurs(pid: number): Promise<boolean> {
  try {
    const program = await readlink(`/proc/${pid}/exe`);
    return basename(program).replace(/ \(deleted\)$/, "") === basename(process.execPath);
  } catch (cause) {
    // What may not be read belongs to another user: running, and not to be trampled on.
    return (cause as NodeJS.ErrnoException).code === "EACCES";
  }
}

async function release(file: string): Promise<void> {
  if ((await readPid(file)) === process.pid) await unlink(file).catch(ignoreMissing);
}

function ignoreMissing(cause: NodeJS.ErrnoException): void {
  if (cause.code !== "ENOENT") throw new PlatformError("unavailable", `pid file cannot be removed: ${cause.message}`, { cause });
}
