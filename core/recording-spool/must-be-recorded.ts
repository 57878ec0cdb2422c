import { errorText, PlatformError } from "../errors/platform-error.ts";
import type { OpenRecording } from "./recording-spool.ts";

/** How long the auth service may lack what a session that must be recorded there has shown, ms. */
const syncMs = 10_000;

/** Looks whether the auth service keeps up; `onBehind` is called once when it does not. Returns what ends the looking. */
export function watchUpload({ spooled }: OpenRecording, onBehind: (why: PlatformError) => void): () => void {
  let upToDate = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    if (spooled.sent >= spooled.written) upToDate = now;
    if (now - upToDate <= syncMs) return;
    clearInterval(timer);
    onBehind(new PlatformError("unavailable", `the auth service has taken nothing of it for ${syncMs / 1000} s`));
  }, 500);
  return () => clearInterval(timer);
}

/** What the user of a session is told that does not begin, or not go on, without a recording. */
export function mustBeRecorded(cause: unknown): PlatformError {
  return new PlatformError("unavailable", `sessions here must be recorded, and this one cannot be: ${errorText(cause)}`, { cause });
}
