import { getSystemErrorMessage } from "node:util";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Status } from "../../../core/sftp/numbers.ts";

/** The answer for a failed request: codes as in OpenSSH's sftp-server, and the system's own message. */
export function statusOf(thrown: unknown): { readonly status: Status; readonly message: string } {
  if (thrown instanceof PlatformError) return { status: byPlatformCode[thrown.code] ?? "failure", message: thrown.message };
  const { code, errno, message } = thrown as NodeJS.ErrnoException;
  const status = byErrno[code ?? ""] ?? "failure";
  if (typeof errno !== "number" || errno >= 0) return { status, message };
  return { status, message: capital(getSystemErrorMessage(errno)) };
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
