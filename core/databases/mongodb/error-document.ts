import type { ErrorCode, PlatformError } from "../../errors/platform-error.ts";
import { encodeDocument } from "./bson-document.ts";

/**
 * Error codes of MongoDB (src/mongo/base/error_codes.yml) by ours. None of them makes a driver repeat the command, which would happen on a connection
 * that is closed by then and hide the reason.
 */
const codes: Readonly<Record<ErrorCode, readonly [code: number, name: string]>> = {
  invalid: [9, "FailedToParse"],
  unauthenticated: [18, "AuthenticationFailed"],
  denied: [13, "Unauthorized"],
  mfa_required: [13, "Unauthorized"],
  not_found: [13, "Unauthorized"],
  already_exists: [8, "UnknownError"],
  conflict: [8, "UnknownError"],
  limit: [13, "Unauthorized"],
  unavailable: [133, "FailedToSatisfyReadPreference"],
  timeout: [133, "FailedToSatisfyReadPreference"],
  unsupported: [115, "CommandNotSupported"],
  internal: [8, "UnknownError"],
};
/** Longest text, UTF-16 units. */
const maxText = 4_000;

/** An error as the answer to a command. Pure. */
export function errorDocument({ code, message, hint }: PlatformError): Buffer {
  const [number, codeName] = codes[code];
  const text = hint === undefined ? message : `${message}: ${hint}`;
  return encodeDocument({ ok: 0, errmsg: text.slice(0, maxText), code: number, codeName });
}
