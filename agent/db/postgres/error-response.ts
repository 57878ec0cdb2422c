import { Reader, u32 } from "../../../core/bytes/fields.ts";
import type { ErrorCode, PlatformError } from "../../../core/errors/platform-error.ts";
import { cString, readCString } from "./c-string.ts";

/*
 * ErrorResponse: 'E' | u32 length without the type | (field type, text \0)… \0
 * Fields: S and V severity, C SQLSTATE, M message, D detail, H hint.
 */

/** When an error ends a session: before it began, by a rule or an admin, or by a peer. */
export type Stage = "login" | "rule" | "peer";

const always: Partial<Record<ErrorCode, string>> = { not_found: "3D000", unsupported: "0A000", invalid: "08P01", internal: "XX000" };
const states: Readonly<Record<Stage, Partial<Record<ErrorCode, string>>>> = {
  login: { ...always, denied: "28000", mfa_required: "28000", unauthenticated: "28000", limit: "53300", unavailable: "08006", timeout: "08006" },
  // Clients treat any other rule as an act of the server's administrator.
  rule: { timeout: "57P05" },
  peer: { ...always, unavailable: "08006", timeout: "08006" },
};

/** The SQLSTATE that clients know for such an error. */
export function sqlStateOf(code: ErrorCode, stage: Stage): string {
  return states[stage][code] ?? "57P01";
}

const maxField = 2_000;

/** A fatal ErrorResponse. The detail names the session, so that an admin finds it in the audit. */
export function encodeFatal({ code, message, hint }: PlatformError, stage: Stage, detail: string): Buffer {
  const fields = { S: "FATAL", V: "FATAL", C: sqlStateOf(code, stage), M: message, D: detail, H: hint };
  const body = Object.entries(fields).flatMap(([type, text]) => (text === undefined ? [] : [cString(`${type}${text.slice(0, maxField)}`)]));
  return encodeMessage("E", Buffer.concat([...body, Buffer.of(0)]));
}

/** What an ErrorResponse says. */
export interface ServerError {
  /** ERROR, FATAL or PANIC. */
  readonly severity: string;
  readonly state: string;
  readonly message: string;
}

/** Reads the beginning of an ErrorResponse's body; what is not in there is empty. Pure; never throws. */
export function decodeError(body: Buffer): ServerError {
  const reader = new Reader(body);
  const fields = new Map<string, string>();
  while (reader.remaining > 0 && reader.bytes.subarray(reader.position).includes(0)) {
    const field = readCString(reader);
    if (field.length === 0) break;
    fields.set(field.toString("latin1", 0, 1), field.toString("utf8", 1));
  }
  return { severity: fields.get("V") ?? fields.get("S") ?? "", state: fields.get("C") ?? "", message: fields.get("M") ?? "" };
}

/** A message of either side: type, u32 length without the type, body. */
export function encodeMessage(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type), u32(4 + body.length), body]);
}
