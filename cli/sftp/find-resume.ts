import { createHash } from "node:crypto";
import { read } from "node:fs";
import { promisify } from "node:util";
import { extensionNames } from "../../core/sftp/numbers.ts";
import { hashStart } from "../../core/sftp-client/sftp-calls.ts";
import type { SftpClient } from "../../core/sftp-client/sftp-client.ts";

/** Minimum size for a comparison, bytes: sending less again is faster. */
export const leastResumed = 1024 * 1024;

interface Ends {
  readonly client: SftpClient;
  readonly handle: Buffer;
  readonly fd: number;
}

/** Whether `hasSameStart` is worth calling: the existing part is not longer than the source, and the server can hash. */
export function mayResume(client: SftpClient, there: number, whole: number): boolean {
  return there >= leastResumed && there <= whole && client.extensions.has(extensionNames.sha256);
}

/**
 * Whether the first `length` bytes of the remote and of the local file are the same: proven by SHA-256 of all of them, and not
 * guessed from sizes or times. An early check of the start saves most of the work when they differ.
 */
export async function hasSameStart({ client, handle, fd }: Ends, length: number): Promise<boolean> {
  for (const part of [leastResumed, length]) {
    const [remote, local] = await Promise.all([hashStart(client, handle, part), hashFile(fd, part)]);
    if (remote === undefined || local === undefined || !remote.equals(local)) return false;
  }
  return true;
}

const readAt = promisify(read);
const piece = 1024 * 1024;

/** SHA-256 of the first `length` bytes of an open file; undefined when it is shorter. */
async function hashFile(fd: number, length: number): Promise<Buffer | undefined> {
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
