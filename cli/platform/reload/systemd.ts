import { setTimeout as sleep } from "node:timers/promises";
import { getSystemErrorName } from "node:util";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { type ProcessAddon, processAddon } from "../../../core/processes/process-addon.ts";
import { version } from "../../../core/versions/version.ts";

export interface ServiceManager {
  /** Variables as in sd_notify(3), e.g. `STATUS=ready`. Never throws; returns at once without a service manager. */
  notify(...variables: readonly string[]): Promise<void>;
  /** The same on behalf of process `pid`, where this one may do that (root); else on its own behalf. */
  notifyAs(pid: number, ...variables: readonly string[]): Promise<void>;
}

/** Time for a busy service manager, ms. */
const notifyMs = 5_000;
const pauseMs = 50;
/** EAGAIN, ENOBUFS: its queue is full. EPERM, ESRCH: not on behalf of that process. */
const [again, noRoom, forbidden, noProcess] = [-11, -105, -1, -3] as const;

/**
 * Notifies systemd like sd_notify(3), in datagrams of this very process: with NotifyAccess=main systemd hears the main process of the
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
    log.error("could not notify the service manager: systemd will consider this start as hung", { error: errorText(thrown) });
    return undefined;
  }
}

/** A process's messages to the service manager, which accepts those of the main process only: none before this process is it. */
export class ServiceVoice {
  readonly #manager: ServiceManager;
  #isHeard: boolean;
  #said = "";

  constructor(manager: ServiceManager, isHeard: boolean) {
    this.#manager = manager;
    this.#isHeard = isHeard;
  }

  /** Reports the state in words; the last text is sent once this process is the main one. */
  say(text: string): void {
    const status = `${version}: ${text}`;
    if (this.#isHeard && status !== this.#said) void this.#manager.notify(`STATUS=${status}`);
    this.#said = status;
  }

  /** The service manager knows that this is the main process. */
  async ready(): Promise<void> {
    this.#isHeard = true;
    await this.#manager.notify("READY=1", `STATUS=${this.#said || version}`);
  }

  /** As the main process: names its successor. */
  async announce(pid: number): Promise<void> {
    await this.#manager.notify(`MAINPID=${pid}`);
  }

  /** Takes over the main role from a predecessor of an earlier version, which leaves the message to us: only the main process is heard. */
  async replace(pid: number): Promise<void> {
    await this.#manager.notifyAs(pid, `MAINPID=${process.pid}`);
    await this.ready();
  }

  stopping(): void {
    if (this.#isHeard) void this.#manager.notify("STOPPING=1");
  }
}
