import { randomBytes } from "node:crypto";
import { lstat, open, readFile, rename, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { SchedulePlace } from "./schedule-keeper.ts";

/** Longest schedule read back, bytes. */
const maxBytes = 65_536;
const othersMayWrite = 0o002;

/** The schedule file as the keeper's place. */
export function scheduleFile(path: string): SchedulePlace {
  return { name: path, read: async () => await readScheduleFile(path), write: async (text) => await writeScheduleFile(path, text) };
}

/** Contents of the file; undefined if there is none. Throws `unavailable` when it cannot be read, `invalid` if it is not a plain file. */
async function readScheduleFile(path: string): Promise<string | undefined> {
  const found = await look(path);
  if (found === undefined) return undefined;
  if (found.size > maxBytes) return "\0too long";
  return await readFile(path, "utf8").catch((cause: unknown) => fail(path, "read", cause));
}

/**
 * Replaces the text of the schedule file; owner and mode stay, except for write permission of others. Durable when it resolves.
 * A missing file is created, readable for everybody; an empty text does not create one.
 *
 * Where the folder allows it, a new file replaces the old one in one step. An agent without root rights may own the file
 * and not the folder: then the file is emptied first and gets its new text by one write. A reader that reads it in one step in between sees the
 * empty schedule or a beginning of the text, which has no window that is not in it (core/versions/upgrade-schedule.ts); the same
 * holds after a crash in between. A reader in several steps may continue in the new text where the old one ended: lines have one
 * length, so that this too gives whole windows, of the old and of the new text.
 */
export async function writeScheduleFile(path: string, text: string): Promise<void> {
  const found = await look(path);
  if (found === undefined && text === "") return;
  if (await replaced(path, text, found)) return;
  if (found === undefined) {
    throw new PlatformError("denied", `this user may not create ${path}`, {
      hint: "create it as root, and give it to the user that runs the agent",
    });
  }
  await writeInPlace(path, text, found).catch((cause: unknown) => fail(path, "write", cause));
}

const head = "# Written by the platform agent: keys of the cluster's host authority, which sign the versions that the updater takes.\n";

/**
 * Gives the updater the cluster's signing keys: writes `authorities` when its contents differ. Resolves to whether it was written.
 * Throws PlatformError when it cannot be written: an agent that is not root may not create files there.
 */
export async function writeAuthorities(file: string, keys: readonly string[]): Promise<boolean> {
  const text = `${head}${keys.map((key) => `${key}\n`).join("")}`;
  if ((await readScheduleFile(file)) === text) return false;
  await writeScheduleFile(file, text);
  return true;
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
  throw new PlatformError("invalid", `${path} is not a regular file`);
}

/** False when this user may not create files there, or not with the old one's owner. */
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
    return fail(path, "write", cause);
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
  // A full disk: an empty file is better than a part.
  if (bytesWritten !== bytes.length) {
    await handle.truncate(0);
    throw new PlatformError("unavailable", `could not write all of it: ${bytesWritten} of ${bytes.length} bytes`);
  }
  await handle.sync();
}

/** Syncs the folder, so that the new name is durable. A file system that cannot do that is ignored. */
async function syncFolder(path: string): Promise<void> {
  try {
    await using handle = await open(path, "r");
    await handle.sync();
  } catch {}
}

function fail(path: string, what: string, cause: unknown): never {
  const code = codeOf(cause);
  const message = `could not ${what} ${path}: ${cause instanceof Error ? cause.message : String(cause)}`;
  throw new PlatformError(code === "EACCES" || code === "EPERM" ? "denied" : "unavailable", message, { cause });
}

function codeOf(cause: unknown): string | undefined {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined;
}
