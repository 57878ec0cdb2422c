import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";

/** The error of a request whose API server could not be reached or did not answer with HTTP. Pure. */
export function unreachedError(cluster: string, cause: unknown): PlatformError {
  if (cause instanceof PlatformError && !["unavailable", "timeout", "unauthenticated"].includes(cause.code)) return cause;
  const code = cause instanceof PlatformError && cause.code === "timeout" ? "timeout" : "unavailable";
  const text = cause instanceof PlatformError ? errorText(cause) : "the connection to it broke";
  return new PlatformError(code, `the agent could not reach the API server of Kubernetes cluster ${cluster}: ${text}`, { cause });
}
