import { extensionNames } from "../../core/sftp/numbers.ts";
import { hashFile } from "./hash-file.ts";
import { hashStart } from "./sftp-calls.ts";
import type { SftpClient } from "./sftp-client.ts";

/** Less is sent again sooner than it is compared, bytes. */
export const leastResumed = 1024 * 1024;

interface Ends {
  readonly client: SftpClient;
  readonly handle: Buffer;
  readonly fd: number;
}

/** Whether it can pay to ask `hasSameStart`: what is there is no longer than what comes, and the server can hash. */
export function mayResume(client: SftpClient, there: number, whole: number): boolean {
  return there >= leastResumed && there <= whole && client.extensions.has(extensionNames.sha256);
}

/**
 * Whether the first `length` bytes of the remote and of the local file are the same: proven by SHA-256 of all of them, and not
 * guessed from sizes or times. A first look at the start spares most of the work when they are not.
 */
export async function hasSameStart({ client, handle, fd }: Ends, length: number): Promise<boolean> {
  for (const part of [leastResumed, length]) {
    const [remote, local] = await Promise.all([hashStart(client, handle, part), hashFile(fd, part)]);
    if (remote === undefined || local === undefined || !remote.equals(local)) return false;
  }
  return true;
}
