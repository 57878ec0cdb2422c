import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, rmdir, unlink } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { isAlive } from "../../../core/processes/is-alive.ts";

/** Names of what a backup keeps in its folder: the archive, copies of databases, and what SQLite has beside a copy. */
const ownNames = /^(archive|\d+(-journal|-wal|-shm)?)$/;
/** Time after which nobody writes into such a folder any more, ms: a process of the same number may have begun since. */
const staleMs = 24 * 60 * 60_000;

/** The unfinished files of one backup, beside its target: only their owner may see them, and they go with it. */
export interface PartFolder extends AsyncDisposable {
  readonly path: string;
  /** The path of a file in it, also if somebody has moved the folder. */
  inside(name: string): string;
}

/**
 * Makes `.tctl-backup.<host>.<pid>.part` in a folder, and removes those of backups that were killed, whatever their targets were. Throws `invalid`, and
 * `denied` where it is not this user's own.
 */
export async function openPartFolder(folder: string): Promise<PartFolder> {
  try {
    for (const name of await readdir(folder)) {
      if (ownerOf(name) !== undefined) await removeLeftover(folder, name);
    }
    const path = join(folder, `.tctl-backup.${hostname()}.${process.pid}.part`);
    await mkdir(path, { mode: 0o700 });
    const handle = await openOwn(path);
    if (handle === undefined) {
      await rmdir(path).catch(() => {});
      throw new PlatformError(
        "denied",
        `${path} does not belong to this user alone as soon as it is made: somebody replaced it, or the folder maps its owners`,
        {
          hint: "choose a folder on this host's own disk, and copy the file",
        },
      );
    }
    return {
      path,
      inside: (name) => join(pathOf(handle), name),
      [Symbol.asyncDispose]: async () => {
        await remove(path, handle).catch((cause: unknown) => {
          throw new PlatformError("unavailable", `could not remove ${path}: ${errorText(cause)}`, {
            cause,
            hint: "remove it yourself: it may hold the cluster's private keys; a backup that has its own name is complete all the same",
          });
        });
      },
    };
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    throw new PlatformError("invalid", `could not write into ${folder}: ${errorText(cause)}`, { cause, hint: "choose an existing folder" });
  }
}

/** Host and process that a folder of this name belongs to; undefined: it is none of a backup. */
function ownerOf(name: string): { readonly host: string; readonly pid: number } | undefined {
  const [, host, pid] = /^\.tctl-backup\.(.+)\.(\d{1,10})\.part$/.exec(name) ?? [];
  return host === undefined ? undefined : { host, pid: Number(pid) };
}

/** What others have put there, or swap for something else meanwhile, stays. */
async function removeLeftover(folder: string, name: string): Promise<void> {
  const path = join(folder, name);
  const handle = await openOwn(path).catch(() => undefined);
  if (handle === undefined) return;
  if (!(await isLeft(name, handle))) return void (await handle.close());
  await remove(path, handle).catch(() => {
    // The next backup tries again.
  });
}

/** A process of another host, or of another container, cannot be asked whether it is alive. */
async function isLeft(name: string, handle: FileHandle): Promise<boolean> {
  const owner = ownerOf(name);
  if (owner?.host === hostname() && (owner.pid === process.pid || !isAlive(owner.pid))) return true;
  const inside = await Promise.all((await readdir(pathOf(handle))).map(async (one) => await lstat(join(pathOf(handle), one)).catch(() => undefined)));
  const written = [await handle.stat(), ...inside].map((facts) => facts?.mtimeMs ?? 0);
  return Math.max(...written) < Date.now() - staleMs;
}

/** A folder of this user, which nobody else may write into. Undefined: it is something else, a link too. */
async function openOwn(path: string): Promise<FileHandle | undefined> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  const facts = await handle.stat();
  // Not 0700 alone: a file system without modes (a USB stick's) makes one for all.
  if (facts.uid === process.getuid?.() && (facts.mode & 0o022) === 0) return handle;
  await handle.close();
  return undefined;
}

/** Removes the files by the open folder, so that no swapped path leads elsewhere, and then the folder, which is empty. */
async function remove(path: string, handle: FileHandle): Promise<void> {
  try {
    for (const name of await readdir(pathOf(handle))) {
      if (ownNames.test(name)) await unlink(join(pathOf(handle), name));
    }
  } finally {
    await handle.close();
  }
  await rmdir(path);
}

/** Of what is open, as Linux has it. */
function pathOf({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}
