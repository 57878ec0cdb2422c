import type { Log } from "../../core/log/log.ts";

export interface StopSignals extends Disposable {
  /** Aborted by the first SIGTERM or SIGINT. */
  readonly signal: AbortSignal;
  /** Stops as a signal would. */
  stop(reason: string): void;
}

/** Listens for the signals of the service manager. The second one to stop ends the process at once. */
export function stopSignals(log: Log, { onHangUp }: { readonly onHangUp: () => void }): StopSignals {
  const controller = new AbortController();
  const stop = (reason: string): void => {
    if (controller.signal.aborted) return;
    log.info("stopping: refusing new sessions, draining those in progress", { reason });
    controller.abort();
  };
  const onSignal = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) {
      log.warn("second signal: stopping at once", { signal: name });
      process.exit(1);
    }
    stop(name);
  };
  const onReload = (): void => {
    log.info("reload requested", { signal: "SIGHUP" });
    onHangUp();
  };
  process.on("SIGTERM", onSignal).on("SIGINT", onSignal).on("SIGHUP", onReload);
  return {
    signal: controller.signal,
    stop,
    [Symbol.dispose]: () => {
      process.off("SIGTERM", onSignal).off("SIGINT", onSignal).off("SIGHUP", onReload);
    },
  };
}
