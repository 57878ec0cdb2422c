import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Attributes } from "../../../core/sftp/attributes.ts";
import { done, type Reply, replyStatus, statusOf } from "./reply.ts";

export interface Changes {
  /** Omitted where the size cannot be set. */
  readonly size?: (size: number) => void;
  readonly mode: (mode: number) => void;
  /** Seconds. */
  readonly times: (accessed: number, modified: number) => void;
  readonly owner: (uid: number, gid: number) => void;
}

/** Makes each requested change, in the order of OpenSSH's sftp-server, also after one has failed; the last failure is the answer. */
export function changeAll({ size, mode, times, owner }: Attributes, changes: Changes): Reply {
  const steps: (() => void)[] = [];
  if (size !== undefined) steps.push(() => resize(size, changes));
  if (mode !== undefined) steps.push(() => changes.mode(mode & 0o7777));
  if (times !== undefined) steps.push(() => changes.times(times.accessed, times.modified));
  if (owner !== undefined) steps.push(() => changes.owner(owner.uid, owner.gid));
  let reply = done;
  for (const step of steps) {
    try {
      step();
    } catch (thrown) {
      const { status, message } = statusOf(thrown);
      reply = replyStatus(status, message);
    }
  }
  return reply;
}

function resize(size: bigint, changes: Changes): void {
  if (changes.size === undefined) throw new PlatformError("invalid", "A size cannot be set here");
  if (size > Number.MAX_SAFE_INTEGER) throw new PlatformError("invalid", "File too large");
  changes.size(Number(size));
}
