import { serialize } from "bson";
import type { ErrorCode, PlatformError } from "../../../core/errors/platform-error.ts";

/**
 * Error codes of MongoDB (src/mongo/base/error_codes.yml) by ours. None of them makes a driver repeat the command, which would happen on a connection
 * that is closed by then and hide the reason.
 */
const codes: Readonly<Record<ErrorCode, readonly [code: number, name: string]>> = {
  invalid: [9, "FailedToParse"],
  unauthenticated: [18, "AuthenticationFailed"],
  denied: [13, "Unauthorized"],
  not_found: [13, "Unauthorized"],
  already_exists: [8, "UnknownError"],
  conflict: [8, "UnknownError"],
  limit: [13, "Unauthorized"],
  unavailable: [133, "FailedToSatisfyReadPreference"],
  timeout: [133, "FailedToSatisfyReadPreference"],
  unsupported: [115, "CommandNotSupported"],
  internal: [8, "UnknownError"],
};

/** An error as the answer to a command. */
export function errorDocument({ code, message, hint }: PlatformError): Buffer {
  const [number, codeName] = codes[code];
  return Buffer.from(serialize({ ok: 0, errmsg: hint === undefined ? message : `${message}: ${hint}`, code: number, codeName }));
}
