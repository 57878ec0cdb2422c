import { randomBytes } from "node:crypto";
import { type FileHandle, lstat, open, realpath, rename, rm } from "node:fs/promises";
import { errorText, PlatformError } from "../core/errors/platform-error.ts";

/** Longest file edited here, bytes. */
export const maxEdited = 1_048_576;
/** How often a file is read again when another program changes it meanwhile. */
const maxTries = 5;

/** Facts that differ once another program has written a file. */
type Stamp = string;

/**
 * Changes a file of the user that only its owner may read (0600), atomically; a missing one is empty, and a link stays a link. Text holds one character
 * for each byte (latin1). Unchanged text is not written. Returns whether it changed. Throws `invalid`, `conflict`.
 */
export async function editPrivateFile(path: string, change: (text: string) => string): Promise<boolean> {
  const target = await realpath(path).catch(() => path);
  try {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const { text, stamp, owner } = await readWhole(target);
      const changed = change(text);
      if (changed === text) return false;
      if (changed.length > maxEdited) throw tooLong(path);
      if (await replaceWhole(target, changed, { stamp, owner })) return true;
    }
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    throw new PlatformError("invalid", `could not change ${path}: ${errorText(cause)}`, { cause, hint: "check the file, its owner and free space" });
  }
  throw new PlatformError("conflict", `could not change ${path}: another program is writing it`, { hint: "try again" });
}

/** Contents of a file that `editPrivateFile` can change; empty when it is missing. Throws `invalid`. */
export async function readEdited(path: string): Promise<string> {
  return (await readWhole(path)).text;
}

interface Whole {
  readonly text: string;
  readonly stamp: Stamp;
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
}

async function readWhole(path: string): Promise<Whole> {
  let handle: FileHandle;
  try {
    handle = await open(path, "r");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return { text: "", stamp: "", owner: undefined };
    throw new PlatformError("invalid", `could not read ${path}: ${errorText(cause)}`, { cause, hint: "check the file and its owner" });
  }
  await using file = handle;
  const facts = await file.stat();
  if (!facts.isFile()) throw new PlatformError("invalid", `${path} is not a file`, { hint: "remove it, or move it away" });
  if (facts.size > maxEdited) throw tooLong(path);
  const text = await file.readFile("latin1");
  return { text, stamp: stampOf(facts), owner: { uid: facts.uid, gid: facts.gid } };
}

/** False: another program has changed the file since it was read. */
async function replaceWhole(path: string, text: string, { stamp, owner }: Omit<Whole, "text">): Promise<boolean> {
  const fresh = `${path}.${randomBytes(6).toString("hex")}.new`;
  try {
    await using file = await open(fresh, "wx", 0o600);
    await file.chmod(0o600);
    if (owner !== undefined && owner.uid !== process.getuid?.()) await file.chown(owner.uid, owner.gid);
    await file.writeFile(text, "latin1");
    await file.sync();
    const now = await lstat(path).then(stampOf, () => "");
    if (now !== stamp) return false;
    await rename(fresh, path);
    return true;
  } finally {
    await rm(fresh, { force: true });
  }
}

function stampOf({ ino, size, mtimeMs }: { ino: number; size: number; mtimeMs: number }): Stamp {
  return `${ino} ${size} ${mtimeMs}`;
}

function tooLong(path: string): PlatformError {
  return new PlatformError("limit", `${path} is longer than ${maxEdited} bytes`, { hint: "shorten it" });
}
