import type { Stats } from "node:fs";
import { getSystemErrorMessage } from "node:util";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Attributes } from "../../../core/sftp/attributes.ts";
import type { Status } from "../../../core/sftp/numbers.ts";
import type { Response } from "../../../core/sftp/response.ts";

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;
/** An answer without its request id. */
export type Reply = WithoutId<Response>;

export function replyStatus(status: Status, message: string): Reply {
  return { type: "status", status, message };
}

export const done: Reply = replyStatus("ok", "Success");
export const endOfFile: Reply = replyStatus("end_of_file", "End of file");

/** The answer for a failed request: codes as in OpenSSH's sftp-server, and the system's own message. */
export function statusOf(thrown: unknown): { readonly status: Status; readonly message: string } {
  if (thrown instanceof PlatformError) return { status: byPlatformCode[thrown.code] ?? "failure", message: thrown.message };
  const { code, errno, message } = thrown as NodeJS.ErrnoException;
  const status = byErrno[code ?? ""] ?? "failure";
  if (typeof errno !== "number" || errno >= 0) return { status, message };
  return { status, message: capital(getSystemErrorMessage(errno)) };
}

/** A list of one name without attributes, as realpath and readlink answer. */
export function replyName(name: Buffer): Reply {
  return { type: "name", files: [{ name, longName: name, attributes: {} }] };
}

export function attributesOf(stats: Stats): Attributes {
  return {
    size: BigInt(stats.size),
    owner: { uid: stats.uid, gid: stats.gid },
    mode: stats.mode,
    times: { accessed: seconds(stats.atimeMs), modified: seconds(stats.mtimeMs) },
  };
}

/** Times before 1970 and after 2106 do not fit. */
function seconds(ms: number): number {
  return Math.min(Math.max(Math.floor(ms / 1000), 0), 0xffff_ffff);
}

const byErrno: Readonly<Record<string, Status>> = {
  ENOENT: "no_such_file",
  ENOTDIR: "no_such_file",
  EBADF: "no_such_file",
  ELOOP: "no_such_file",
  EPERM: "permission_denied",
  EACCES: "permission_denied",
  EFAULT: "permission_denied",
  ENAMETOOLONG: "bad_message",
  EINVAL: "bad_message",
  ENOSYS: "unsupported",
  // A path with a NUL byte, which no file has.
  ERR_INVALID_ARG_VALUE: "no_such_file",
};

const byPlatformCode: Partial<Record<PlatformError["code"], Status>> = {
  invalid: "bad_message",
  not_found: "no_such_file",
  denied: "permission_denied",
  unsupported: "unsupported",
};

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
