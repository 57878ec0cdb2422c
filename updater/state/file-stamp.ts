import { createHmac, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";

/** Largest file that is stamped, bytes: the agent accepts no larger configuration. */
const maxBytes = 1_048_576;
const keyBytes = 32;

/**
 * Stamp of a file: another one for other contents, another owner, group or mode (which may be why it could not be read), and the same after it is written
 * again as it was. Kept where everybody may read it, and the contents may hold a short secret that could be guessed from a digest: so it is an HMAC by
 * the key in `keyFile`, which is made at the first use, random, and for its owner (root) alone. Path and owner are part of it, so that nobody can compare it
 * with that of a file of their own. With another key, as after its loss, every stamp is another one.
 * `isDry`: a missing key is not made, and the stamp is of one that nobody keeps. Undefined for a file that is not there, is too large or cannot be read, or without a key. Never throws.
 */
export async function fileStamp(file: string, keyFile: string, { isDry = false }: { readonly isDry?: boolean } = {}): Promise<string | undefined> {
  try {
    const found = await readBounded(file);
    if (found === undefined) return undefined;
    const key = (await readKey(keyFile)) ?? (isDry ? randomBytes(keyBytes) : await makeKey(keyFile));
    return createHmac("sha256", key).update(found.attributes).update(found.bytes).digest("hex").slice(0, 32);
  } catch {
    return undefined;
  }
}

/** Undefined for anything but a file of at most `maxBytes`. */
async function readBounded(path: string): Promise<{ readonly attributes: string; readonly bytes: Buffer } | undefined> {
  // Opening a pipe must not wait for its other end.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const facts = await file.stat();
  if (!facts.isFile() || facts.size > maxBytes) return undefined;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0);
  if (bytesRead > maxBytes) return undefined;
  return { attributes: `${JSON.stringify([path, facts.uid, facts.gid, facts.mode])}\n`, bytes: buffer.subarray(0, bytesRead) };
}

/** Undefined for a missing one, or what a full disk has left of one. */
async function readKey(keyFile: string): Promise<Buffer | undefined> {
  try {
    const key = await readFile(keyFile);
    return key.length === keyBytes ? key : undefined;
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
    throw thrown;
  }
}

async function makeKey(keyFile: string): Promise<Buffer> {
  const key = randomBytes(keyBytes);
  await mkdir(dirname(keyFile), { recursive: true, mode: 0o755 });
  const fresh = `${keyFile}.new`;
  {
    await using file = await open(fresh, "w", 0o600);
    await file.chmod(0o600);
    await file.writeFile(key);
    await file.sync();
  }
  await rename(fresh, keyFile);
  return key;
}
