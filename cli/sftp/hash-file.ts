import { createHash } from "node:crypto";
import { read } from "node:fs";
import { promisify } from "node:util";

const readAt = promisify(read);
const piece = 1024 * 1024;

/** SHA-256 of the first `length` bytes of an open file; undefined when it is shorter. */
export async function hashFile(fd: number, length: number): Promise<Buffer | undefined> {
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(Math.min(piece, length));
  for (let at = 0; at < length; ) {
    const { bytesRead } = await readAt(fd, buffer, 0, Math.min(buffer.length, length - at), at);
    if (bytesRead === 0) return undefined;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  return hash.digest();
}
