import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";

/**
 * Stamp of a file's state: another one after each write, replacement, and change of its owner or mode. Made from the file's attributes, because the
 * stamp of a configuration is kept where everybody may read it: from its contents, somebody could guess a token. Undefined for a file that is not
 * there or cannot be examined. Never throws.
 */
export async function fileStamp(file: string): Promise<string | undefined> {
  try {
    const { ino, size, ctimeNs } = await stat(file, { bigint: true });
    return createHash("sha256").update(`${ino} ${size} ${ctimeNs}`).digest("hex").slice(0, 32);
  } catch {
    return undefined;
  }
}
