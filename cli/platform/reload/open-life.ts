import { isSea } from "node:sea";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import type { ListenSockets } from "../../../core/transport/listen-sockets.ts";
import { version } from "../../../core/versions/version.ts";
import { replacePidFile, takePidFile } from "../pid-file.ts";
import type { HostNames } from "../services.ts";
import type { Predecessor } from "./predecessor.ts";
import type { ProcessState } from "./process-state.ts";
import { Reloader } from "./reloader.ts";
import type { DataFolder } from "./same-folder.ts";
import { otherProcesses, serveStatus } from "./status-socket.ts";
import { ServiceVoice, serviceManager } from "./systemd.ts";

export interface LifeOptions {
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The process runs in a terminal: SIGHUP means that it was closed. */
  readonly isTerminal: boolean;
  readonly state: ProcessState;
  readonly sockets: ListenSockets;
  readonly dataFolder: DataFolder;
  readonly pidFile: string | undefined;
  readonly runtimeDirectory: string | undefined;
  readonly predecessor: Predecessor | undefined;
}

/** The life of a process among those of its service: it may replace one, is the main one, and is replaced by the next. */
export interface Life extends AsyncDisposable {
  /** Aborted by a signal to stop. */
  readonly stopping: AbortSignal;
  /** Aborted when the next process has taken over: sessions go on to their end. */
  readonly retire: AbortSignal;
  /** Call this right before the services start. */
  begin(): void;
}

/** How often the sessions are counted for the service manager and the cluster, ms. */
const statusMs = 10_000;

/** Takes the pid file unless another process is the main one still. Throws PlatformError `conflict` or `unavailable`. */
export async function openLife(options: LifeOptions): Promise<Life> {
  const { log, env, state, sockets, dataFolder, pidFile, predecessor, runtimeDirectory } = options;
  await using stack = new AsyncDisposableStack();
  let held: AsyncDisposable | undefined;
  stack.defer(async () => held?.[Symbol.asyncDispose]());
  if (pidFile !== undefined && predecessor === undefined) held = await takePidFile(pidFile);
  const retire = new AbortController();
  const voice = new ServiceVoice(serviceManager(env, log), predecessor === undefined);
  const takePid = async (): Promise<void> => {
    if (pidFile !== undefined) held = await replacePidFile(pidFile);
  };
  const reclaim = async (): Promise<void> => {
    await takePid();
    // A predecessor of an earlier version may have announced itself.
    await voice.announce(process.pid);
    await voice.ready();
  };
  const stopping = stack.use(
    stopSignals({
      ...{ log, state },
      onHangUp: () => (options.isTerminal ? stopping.stop("SIGHUP of the terminal") : reload()),
    }),
  );
  const stop = (reason: string): void => stopping.stop(reason);
  const news = { announce: (pid: number) => voice.announce(pid), say: (text: string) => voice.say(text), reclaim, stop };
  const reloader = new Reloader({ log, command: sameCommand(), env, sockets, dataFolder, state, retire: () => retire.abort(), ...news });
  stopping.signal.addEventListener("abort", () => {
    if (state.role === "main") voice.stopping();
    predecessor?.stopping();
    void reloader.stop();
  });
  const reload = (): void => reloader.request();
  if (runtimeDirectory !== undefined) stack.use(await openStatus(runtimeDirectory, options));
  const takeOver = async (hosts: readonly HostNames[]): Promise<void> => {
    state.expect(hosts);
    await sockets.start();
    state.reload = { state: "done", pid: process.pid, version, at: new Date().toISOString() };
    state.become("main");
    await takePid();
    if (predecessor?.announces === false) await voice.replace(predecessor.pid);
    log.info("this process has taken over", { pid: process.pid, version });
    reloader.start();
  };
  const reporting = setInterval(() => void reportStatus(options, news.say), statusMs).unref();
  const kept = stack.move();
  return {
    stopping: stopping.signal,
    retire: retire.signal,
    begin: () =>
      predecessor?.follow({
        ...{ log, ready: () => state.isReady, problem: () => state.problem },
        ...{ takeOver, announced: () => void voice.ready(), reload, stop },
      }),
    [Symbol.asyncDispose]: async () => {
      clearInterval(reporting);
      predecessor?.close();
      await reloader.stop();
      await kept.disposeAsync();
    },
  };
}

async function reportStatus({ state, runtimeDirectory, log }: LifeOptions, say: (text: string) => void): Promise<void> {
  if (state.role !== "main") return;
  // Only a successor has predecessors.
  if (runtimeDirectory !== undefined && state.reload.state !== "none") {
    try {
      const draining = (await otherProcesses(runtimeDirectory)).filter(({ role }) => role === "draining");
      state.elsewhere = draining.reduce((sum, { sessions }) => sum + sessions, 0);
    } catch (thrown) {
      log.warn("could not query the earlier processes", { error: errorText(thrown) });
    }
  }
  const failed = state.failedReload;
  const sessions = `${state.sessions + state.elsewhere} sessions`;
  if (state.reload.state !== "starting") say(failed === undefined ? sessions : `${sessions}; last reload failed: ${failed.error}`);
}

/** Without it this process still serves, but the updater finds no process to query. */
async function openStatus(folder: string, { log, state }: LifeOptions): Promise<AsyncDisposable> {
  try {
    return await serveStatus(folder, () => state.facts(), log);
  } catch (thrown) {
    log.warn("could not open the status socket", { folder, error: errorText(thrown) });
    return { [Symbol.asyncDispose]: async () => {} };
  }
}

/**
 * The words that start this program again with the same arguments: the executable now on disk. Once a package
 * has replaced the file, the kernel names the running one "… (deleted)": the successor is the file now at its path.
 */
function sameCommand(): readonly string[] {
  const program = process.execPath.replace(/ \(deleted\)$/, "");
  // Without the executable (run from source), the second word is the script.
  return isSea() ? [program, ...process.argv.slice(2)] : [program, ...process.execArgv, ...process.argv.slice(1)];
}

interface StopSignals extends Disposable {
  /** Aborted by the first SIGTERM or SIGINT. */
  readonly signal: AbortSignal;
  /** Stops as a signal would. */
  stop(reason: string): void;
}

/** Listens for the signals of the service manager. The second one to stop ends the process at once. */
function stopSignals({ log, state, onHangUp }: Pick<LifeOptions, "log" | "state"> & { readonly onHangUp: () => void }): StopSignals {
  const controller = new AbortController();
  const stop = (reason: string): void => {
    if (controller.signal.aborted) return;
    // Of an agent; a proxy ends its relayed streams at once.
    log.info("stopping: no new sessions; those in progress have up to 10 s to end", { reason, sessions: state.sessions + state.elsewhere });
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
