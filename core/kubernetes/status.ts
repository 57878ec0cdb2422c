import type { ErrorCode } from "../errors/platform-error.ts";

/*
 * Errors as Kubernetes' API says them, in the body of an answer (apimachinery, meta/v1 Status): clients print `message`, and react to `reason` and `code`.
 *   {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":…,"reason":"Forbidden","code":403}
 */

const statusCodes: Readonly<Record<ErrorCode, number>> = {
  invalid: 400,
  unauthenticated: 401,
  denied: 403,
  mfa_required: 403,
  // Of a cluster. 404 says that the object is not there: `--ignore-not-found` and controllers would believe it while an agent is away.
  not_found: 503,
  already_exists: 409,
  conflict: 409,
  limit: 429,
  internal: 500,
  unsupported: 406,
  unavailable: 503,
  timeout: 504,
};

/** Reasons that clients know. */
const reasons: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/** The HTTP status for the refusal of a connection. */
export function kubeStatusCode(code: ErrorCode): number {
  return statusCodes[code];
}

/** The body (JSON) of an answer with this HTTP status. Pure. */
export function kubeStatusBody(code: number, message: string): string {
  return JSON.stringify({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason: reasons[code] ?? "", code });
}
