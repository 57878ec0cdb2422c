import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { sessionProgram } from "../../host/session/session-program.ts";

/** Path of the program that starts sessions, good for as long as this process lives. Throws `unsupported` where it cannot be run. */
export function openStarter(): string {
  let program: number | undefined;
  try {
    program = sessionProgram();
  } catch (cause) {
    throw new PlatformError("unsupported", `sessions cannot be started on this host: ${errorText(cause)}`, {
      hint: "let files be executed in one of /tmp, /dev/shm and /run",
      cause,
    });
  }
  if (program === undefined) throw new PlatformError("unsupported", "sessions are started by the built executable only, and this runs from source");
  return `/proc/self/fd/${program}`;
}
