import { spawn } from "node:child_process";
import { once } from "node:events";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";

export interface ServiceManager {
  /** Variables as in sd_notify(3), e.g. `MAINPID=7`. Never throws; at once without a service manager that listens. */
  notify(...variables: readonly string[]): Promise<void>;
}

/** For the helper program, ms. */
const notifyMs = 5_000;

/**
 * Tells systemd through its own program: Node has no datagram sockets of the Unix family. The unit needs NotifyAccess=all.
 * One message at a time, in order.
 */
export function serviceManager(env: Readonly<Record<string, string | undefined>>, log: Log): ServiceManager {
  const { NOTIFY_SOCKET, PATH } = env;
  if (NOTIFY_SOCKET === undefined || NOTIFY_SOCKET === "") return { notify: async () => {} };
  const tell = async (variables: readonly string[]): Promise<void> => {
    try {
      const child = spawn("systemd-notify", [...variables], {
        stdio: "ignore",
        env: { NOTIFY_SOCKET, PATH },
        timeout: notifyMs,
        killSignal: "SIGKILL",
      });
      const [code] = await once(child, "exit");
      if (code !== 0) log.warn("the service manager could not be told", { variables: variables.join(" "), exit: code });
    } catch (thrown) {
      log.warn("the service manager could not be told", {
        variables: variables.join(" "),
        error: errorText(thrown),
        hint: "is systemd-notify installed?",
      });
    }
  };
  let last = Promise.resolve();
  return {
    notify: (...variables) => {
      last = last.then(() => tell(variables));
      return last;
    },
  };
}
