import { errorText } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { hostAddon } from "./host-addon.ts";

/** Ends the utmp record of a process; 0: of all that have ended, as after a kill of the agent. Bookkeeping: a failure is only logged. */
export function endLogin(pid: number, log: Log): void {
  if (process.geteuid?.() !== 0) return;
  try {
    hostAddon()?.recordLogout(pid);
  } catch (thrown) {
    log.debug("could not record the end of a login in utmp", { error: errorText(thrown) });
  }
}
