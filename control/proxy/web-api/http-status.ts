import type { ErrorCode } from "../../../core/errors/platform-error.ts";

/** The web API's status for each error code. */
export const httpStatus: Readonly<Record<ErrorCode, number>> = {
  invalid: 400,
  unauthenticated: 401,
  denied: 403,
  not_found: 404,
  already_exists: 409,
  conflict: 412,
  limit: 429,
  unavailable: 503,
  timeout: 504,
  unsupported: 501,
  internal: 500,
};
