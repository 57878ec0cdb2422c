import type { ErrorCode, PlatformError } from "../../errors/platform-error.ts";

/** The first word of an error is its kind; clients know these. */
const kinds: Partial<Record<ErrorCode, string>> = { denied: "NOPERM", mfa_required: "NOPERM", unauthenticated: "NOAUTH" };
/** Longest text, UTF-16 units. */
const maxText = 2_000;

/** An error is one line: `- kind text CR LF`. Pure. */
export function encodeError(kind: string, text: string): Buffer {
  return Buffer.from(`-${kind} ${text.replace(/\p{Cc}+/gu, " ").slice(0, maxText)}\r\n`);
}

/** A failure as the reply of a server. Pure. */
export function errorReply({ code, message, hint }: Pick<PlatformError, "code" | "message" | "hint">): Buffer {
  return encodeError(kinds[code] ?? "ERR", hint === undefined ? message : `${message} (${hint})`);
}
