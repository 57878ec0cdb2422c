import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { sessionProgram } from "../../host/session/session-program.ts";

/** Path of the program that starts sessions, valid for as long as this process lives. Throws `unsupported` where it cannot run. */
export function openStarter(): string {
  let program: number | undefined;
  try {
    program = sessionProgram();
  } catch (cause) {
    throw new PlatformError("unsupported", `could not start sessions on this host: ${errorText(cause)}`, {
      hint: "allow execution of files in one of /tmp, /dev/shm and /run",
      cause,
    });
  }
  if (program === undefined) throw new PlatformError("unsupported", "only the built executable can start sessions, and this runs from source");
  return `/proc/self/fd/${program}`;
}
