import { randomBytes } from "node:crypto";
import { lstat, open, readFile, rename, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PlatformError } from "../../core/errors/platform-error.ts";

/** Longest schedule read back, bytes. */
const maxBytes = 65_536;
const othersMayWrite = 0o002;

/** The file as it is; undefined: there is none. Throws `unavailable` when it cannot be read, `invalid` for what is no plain file. */
export async function readScheduleFile(path: string): Promise<string | undefined> {
  const found = await look(path);
  if (found === undefined) return undefined;
  if (found.size > maxBytes) return "\0too long";
  return await readFile(path, "utf8").catch((cause: unknown) => fail(path, "read", cause));
}

/**
 * Replaces the text of the schedule file; owner and mode stay, but for the right of all others to write. Durable when it resolves.
 * A file that is not there is made, for everybody to read; an empty text makes none.
 *
 * Where the folder allows it, a new file takes the old one's place in one step. An agent without root rights may own the file
 * and not the folder: then the file is emptied first and gets its new text by one write. Who reads it at once in between sees the
 * empty schedule or a beginning of one text, which names no window that is not in it (core/versions/upgrade-schedule.ts); the same
 * holds after a crash in between. Who reads in several steps may go on in the new text where the old one ended: lines have one
 * length, so that this too gives whole windows, of the old and of the new text.
 */
export async function writeScheduleFile(path: string, text: string): Promise<void> {
  const found = await look(path);
  if (found === undefined && text === "") return;
  if (await replaced(path, text, found)) return;
  if (found === undefined) {
    throw new PlatformError("denied", `${path} cannot be made by this user`, {
      hint: "make it as root, and give it to the user that the agent runs as",
    });
  }
  await writeInPlace(path, text, found).catch((cause: unknown) => fail(path, "written", cause));
}

interface Found {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
  readonly size: number;
}

async function look(path: string): Promise<Found | undefined> {
  try {
    const found = await lstat(path);
    if (found.isFile()) return found;
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return undefined;
    return fail(path, "read", cause);
  }
  throw new PlatformError("invalid", `${path} is no plain file`);
}

/** False: this user may not make files there, or not in the name of the old one's owner. */
async function replaced(path: string, text: string, found: Found | undefined): Promise<boolean> {
  const draft = join(dirname(path), `.schedule-${randomBytes(6).toString("hex")}`);
  try {
    await using handle = await open(draft, "wx", 0o600);
    if (found !== undefined) await handle.chown(found.uid, found.gid);
    await handle.chmod(found === undefined ? 0o644 : found.mode & 0o777 & ~othersMayWrite);
    await handle.writeFile(text);
    await handle.sync();
    await rename(draft, path);
  } catch (cause) {
    await unlink(draft).catch(() => {});
    if (["EACCES", "EPERM", "EROFS"].includes(codeOf(cause) ?? "")) return false;
    return fail(path, "written", cause);
  }
  await syncFolder(dirname(path));
  return true;
}

async function writeInPlace(path: string, text: string, found: Found): Promise<void> {
  await using handle = await open(path, "r+");
  if ((found.mode & othersMayWrite) !== 0) await handle.chmod(found.mode & 0o777 & ~othersMayWrite).catch(() => {});
  await handle.truncate(0);
  const bytes = Buffer.from(text);
  const { bytesWritten } = await handle.write(bytes, 0, bytes.length, 0);
  // A full disk: better none than a part.
  if (bytesWritten !== bytes.length) {
    await handle.truncate(0);
    throw new PlatformError("unavailable", `only ${bytesWritten} of ${bytes.length} bytes could be written`);
  }
  await handle.sync();
}

/** The new name is durable with its folder. A file system that cannot do that keeps it all the same. */
async function syncFolder(path: string): Promise<void> {
  try {
    await using handle = await open(path, "r");
    await handle.sync();
  } catch {}
}

function fail(path: string, what: string, cause: unknown): never {
  const code = codeOf(cause);
  const message = `${path} cannot be ${what}: ${cause instanceof Error ? cause.message : String(cause)}`;
  throw new PlatformError(code === "EACCES" || code === "EPERM" ? "denied" : "unavailable", message, { cause });
}

function codeOf(cause: unknown): string | undefined {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined;
}
