import { u32 } from "../../bytes/fields.ts";
import type { ErrorCode, PlatformError } from "../../errors/platform-error.ts";

/** SQLSTATE by our code; 08006 (connection failure) for others. */
const states: Partial<Record<ErrorCode, string>> = {
  denied: "28000",
  mfa_required: "28000",
  unauthenticated: "28000",
  not_found: "3D000",
  limit: "53300",
  invalid: "08P01",
  unsupported: "0A000",
  internal: "XX000",
};
const maxField = 2_000;

/** ErrorResponse that ends a connection: `E | u32 length without the type | (field type, text 0)… 0`. */
export function encodeFatal({ code, message, hint }: PlatformError): Buffer {
  const fields = { S: "FATAL", V: "FATAL", C: states[code] ?? "08006", M: message, H: hint };
  const texts = Object.entries(fields).flatMap(([type, text]) =>
    text === undefined ? [] : [`${type}${text.replaceAll("\0", "").slice(0, maxField)}\0`],
  );
  const body = Buffer.from(`${texts.join("")}\0`);
  return Buffer.concat([Buffer.from("E"), u32(4 + body.length), body]);
}
