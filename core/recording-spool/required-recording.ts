import { errorText, PlatformError } from "../errors/platform-error.ts";
import type { SpooledRecording } from "./recording-spool.ts";

/* What becomes of a session that may not be without its recording, when that fails or falls behind. */

/** Maximum delay at the auth service of a recording that must be stored there, ms. */
const syncMs = 10_000;

/** Checks whether the auth service keeps up; `onBehind` is called once when it does not. Returns the function that stops it. */
export function watchUpload({ spooled }: { readonly spooled: SpooledRecording }, onBehind: (why: PlatformError) => void): () => void {
  let upToDate = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    if (spooled.sent >= spooled.written) upToDate = now;
    if (now - upToDate <= syncMs) return;
    clearInterval(timer);
    onBehind(new PlatformError("unavailable", `the auth service has not accepted any of it for ${syncMs / 1000} s`));
  }, 500);
  return () => clearInterval(timer);
}

/** The error for the user of a session that cannot begin or continue without a recording. */
export function mustBeRecorded(cause: unknown): PlatformError {
  return new PlatformError("unavailable", `sessions on this host must be recorded, and this one cannot be: ${errorText(cause)}`, { cause });
}
