import type { ErrorCode, PlatformError } from "../../../core/errors/platform-error.ts";
import { encodeError } from "./resp.ts";

/** The first word of an error is its kind; clients know these. */
const codes: Partial<Record<ErrorCode, string>> = { denied: "NOPERM", unauthenticated: "NOAUTH" };

/** A failure as the reply of a server. Pure. */
export function errorReply({ code, message, hint }: PlatformError): Buffer {
  return encodeError(codes[code] ?? "ERR", hint === undefined ? message : `${message} (${hint})`);
}
