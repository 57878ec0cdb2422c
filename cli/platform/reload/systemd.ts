import { setTimeout as sleep } from "node:timers/promises";
import { getSystemErrorName } from "node:util";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { type ProcessAddon, processAddon } from "../../../core/processes/process-addon.ts";

export interface ServiceManager {
  /** Variables as in sd_notify(3), e.g. `STATUS=ready`. Never throws; at once without a service manager that listens. */
  notify(...variables: readonly string[]): Promise<void>;
  /** The same in the name of process `pid`, where this one may do that (root); else in its own. */
  notifyAs(pid: number, ...variables: readonly string[]): Promise<void>;
}

/** For a service manager that is busy, ms. */
const notifyMs = 5_000;
const pauseMs = 50;
/** EAGAIN, ENOBUFS: its queue is full. EPERM, ESRCH: not in this name. */
const [again, noRoom, forbidden, noProcess] = [-11, -105, -1, -3] as const;

/**
 * Tells systemd what sd_notify(3) would, in datagrams of this very process: with NotifyAccess=main systemd hears the main process of the
 * unit and nobody else, no session's program and no helper. One message at a time, in order.
 */
export function serviceManager(
  { NOTIFY_SOCKET: address }: Readonly<Record<string, string | undefined>>,
  log: Log,
  load: () => Pick<ProcessAddon, "notify"> | undefined = processAddon,
): ServiceManager {
  const addon = address === undefined || address === "" ? undefined : loaded(load, log);
  if (address === undefined || addon === undefined) return { notify: async () => {}, notifyAs: async () => {} };
  const send = async (text: string, pid: number): Promise<number> => {
    const end = performance.now() + notifyMs;
    for (;;) {
      const error = -addon.notify(address, text, pid);
      if ((error !== again && error !== noRoom) || performance.now() >= end) return error;
      await sleep(pauseMs);
    }
  };
  const tell = async (variables: readonly string[], pid: number): Promise<void> => {
    const text = variables.map((variable) => variable.replaceAll("\n", " ")).join("\n");
    try {
      let error = await send(text, pid);
      if (pid !== 0 && (error === forbidden || error === noProcess)) error = await send(text, 0);
      if (error !== 0) log.warn("could not notify the service manager", { variables: variables.join(" "), error: getSystemErrorName(error) });
    } catch (thrown) {
      log.warn("could not notify the service manager", { variables: variables.join(" "), error: errorText(thrown) });
    }
  };
  let last = Promise.resolve();
  const inTurn = (variables: readonly string[], pid: number): Promise<void> => {
    last = last.then(() => tell(variables, pid));
    return last;
  };
  return { notify: (...variables) => inTurn(variables, 0), notifyAs: (pid, ...variables) => inTurn(variables, pid) };
}

function loaded(load: () => Pick<ProcessAddon, "notify"> | undefined, log: Log): Pick<ProcessAddon, "notify"> | undefined {
  try {
    return load();
  } catch (thrown) {
    log.error("the service manager cannot be notified: systemd will take this start for one that hangs", { error: errorText(thrown) });
    return undefined;
  }
}
