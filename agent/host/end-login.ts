import { errorText } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { hostAddon } from "./host-addon.ts";

/** Ends what utmp says of a process; 0: of all that are gone, as after a kill of the agent. Bookkeeping: a failure is logged only. */
export function endLogin(pid: number, log: Log): void {
  if (process.geteuid?.() !== 0) return;
  try {
    hostAddon()?.recordLogout(pid);
  } catch (thrown) {
    log.debug("the end of a login is not recorded in utmp", { error: errorText(thrown) });
  }
}
