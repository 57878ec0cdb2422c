import type { ErrorCode } from "./platform-error.ts";

/** Exit statuses of the command line programs. 2 is a wrong command line; a remote command's own status passes through. */
export const exitCodes: Readonly<Record<ErrorCode, number>> = {
  invalid: 2,
  unauthenticated: 3,
  denied: 4,
  not_found: 5,
  already_exists: 6,
  conflict: 7,
  limit: 8,
  unavailable: 9,
  timeout: 10,
  unsupported: 11,
  internal: 1,
};
