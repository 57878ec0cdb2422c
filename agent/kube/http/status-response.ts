import { type ErrorCode, type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { refusalHeader } from "../../../core/kubernetes/refusal-header.ts";
import type { WholeResponse } from "../../http/exchange.ts";

/** An error as Kubernetes states it (`meta/v1 Status`). */
export interface StatusObject {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: object;
  readonly status: "Failure";
  readonly message: string;
  readonly reason: string;
  readonly code: number;
}

/** Statuses and reasons that clients of Kubernetes know. */
const byCode: Readonly<Record<ErrorCode, readonly [code: number, reason: string]>> = {
  invalid: [400, "BadRequest"],
  unauthenticated: [401, "Unauthorized"],
  denied: [403, "Forbidden"],
  mfa_required: [403, "Forbidden"],
  not_found: [404, "NotFound"],
  already_exists: [409, "AlreadyExists"],
  conflict: [409, "Conflict"],
  limit: [429, "TooManyRequests"],
  unavailable: [503, "ServiceUnavailable"],
  timeout: [504, "Timeout"],
  unsupported: [406, "NotAcceptable"],
  internal: [500, "InternalError"],
};

const byStatus: Readonly<Record<number, string>> = { 405: "MethodNotAllowed", 413: "RequestEntityTooLarge", 431: "BadRequest" };

/** Longest message, characters. */
const maxMessage = 2_000;

/** An error as a Status. Its code is the HTTP status of the response. Pure. */
export function statusOf(error: PlatformError): StatusObject {
  const [code, reason] = byCode[error.code];
  const text = error.hint === undefined ? error.message : `${error.message}; ${error.hint}`;
  const message = text.slice(0, maxMessage);
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
}

/** The response that states an error, with the field that marks it as the agent's own. Pure. */
export function statusResponse(thrown: unknown): WholeResponse {
  const error = toPlatformError(thrown);
  const { head, body } = encoded(statusOf(error));
  return { head: { ...head, headers: [...head.headers, [refusalHeader, error.code]] }, body };
}

/** The response to a request that succeeded, without an object. `details`: the kind that it was for. Pure. */
export function successResponse(details: { readonly group: string; readonly kind: string }): WholeResponse {
  return encoded({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details, code: 200 });
}

/** The response to a message that is not a valid request, or that the API server would refuse to handle. Pure. */
export function plainStatus(code: number, message: string): WholeResponse {
  const reason = byStatus[code] ?? "BadRequest";
  return encoded({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code });
}

interface SuccessObject extends Omit<StatusObject, "status" | "message" | "reason"> {
  readonly status: "Success";
  readonly details: object;
}

function encoded(status: StatusObject | SuccessObject): WholeResponse {
  const body = Buffer.from(`${JSON.stringify(status)}\n`);
  const headers = [
    ["Content-Type", "application/json"],
    ["Content-Length", String(body.length)],
    ["Cache-Control", "no-cache, private"],
    ["X-Content-Type-Options", "nosniff"],
  ] as const;
  return { head: { status: status.code, message: "", headers }, body };
}
