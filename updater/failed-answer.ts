import { errorText, PlatformError } from "../core/errors/platform-error.ts";
import type { UpgradeReason } from "../core/versions/upgrade-reason.ts";
import type { EndpointAnswer } from "./endpoint-answer.ts";

/** Reason for an error of dialling the endpoint. */
export function failedAnswer(thrown: unknown): EndpointAnswer {
  const hint = thrown instanceof PlatformError && thrown.hint !== undefined ? `; ${thrown.hint}` : "";
  const detail = `${errorText(thrown)}${hint}`;
  return { kind: "failed", reason: thrown instanceof PlatformError ? reasonOf(thrown) : "internal", detail };
}

function reasonOf({ code, cause }: PlatformError): UpgradeReason {
  // A proxy's demand for credentials (401, 407) has no cause; a refused certificate has the error of the TLS library.
  if (code === "unauthenticated" && cause !== undefined) return "certificate_wrong";
  // A page instead of a version.
  if (code === "limit") return "version_nonsense";
  return code === "invalid" ? "not_configured" : "endpoint_unreachable";
}
