import type { PlatformError } from "../../../core/errors/platform-error.ts";

/** The shape of every error of the web API. */
export function errorBody(error: PlatformError): { error: { message: string; code: string; hint?: string } } {
  return { error: { message: error.message, code: error.code, ...(error.hint !== undefined && { hint: error.hint }) } };
}
