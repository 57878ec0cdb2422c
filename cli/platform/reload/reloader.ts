import type { Socket } from "node:net";
import { type ErrorCode, errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import type { HandedSocket, ListenSockets } from "../../../core/transport/listen-sockets.ts";
import { decideHandover, type Handover } from "./decide-handover.ts";
import { decodeFromNew, type FromNew, MessageChannel } from "./handover-channel.ts";
import type { ConnectionProblem, ProcessState } from "./process-state.ts";
import type { DataFolder } from "./same-folder.ts";
import { startSuccessor } from "./start-successor.ts";

export interface ReloaderDeps {
  readonly log: Log;
  /** Starts this program again from the file on disk. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sockets: ListenSockets;
  readonly dataFolder: DataFolder;
  readonly state: ProcessState;
  /** The other process serves now: this one accepts nothing new and ends after its last stream. */
  readonly retire: () => void;
  /** Names another process as the main one to the service manager. */
  readonly announce: (pid: number) => Promise<void>;
  /** The other process failed during the handover: this one remains the main process. */
  readonly reclaim: () => Promise<void>;
  readonly stop: (reason: string) => void;
  /** Reports the state to the service manager in words. */
  readonly say: (text: string) => void;
}

/** How often a successor is judged, ms. */
const lookMs = 250;
/** Time for its answer after the request to take over, ms. */
const takeMs = 15_000;
/** Time for a successor to stop by itself, ms. */
const stopMs = 3_000;

interface Successor {
  pid: number;
  readonly channel: MessageChannel<FromNew>;
  readonly startedAt: number;
  version?: string;
  heardAt?: number;
  readySince?: number | undefined;
  /** Why it is not connected, as it last reported. */
  problem?: ConnectionProblem | undefined;
  fault?: string;
  /** Code of the error that it reported as its fault. */
  code?: ErrorCode | undefined;
  hasTaken: boolean;
}

/** Replaces this process by a new one: starts it, watches it, hands over, or ends it and goes on. */
export class Reloader {
  readonly #deps: ReloaderDeps;
  #successor: Successor | undefined;
  #running: Promise<void> | undefined;
  #isWanted = false;
  #isStopping = false;
  #connectedSince: number | undefined;
  #wake: () => void = () => {};

  constructor(deps: ReloaderDeps) {
    this.#deps = deps;
  }

  /** SIGHUP. One that arrives during a reload waits for its end: the main process of that moment reloads again. */
  request(): void {
    const { log, state } = this.#deps;
    if (this.#isStopping) return;
    if (state.role === "draining") {
      if (this.#successor?.channel.isOpen === true) this.#successor.channel.send({ type: "reload" });
      else log.warn("this process has already been replaced: reload the main process instead");
      return;
    }
    this.#isWanted = true;
    if (state.role === "main") this.start();
    else log.info("reload is postponed until this process has taken over");
  }

  /** Does what was requested so far. */
  start(): void {
    if (!this.#isWanted || this.#running !== undefined) return;
    this.#isWanted = false;
    this.#running = this.#run()
      .catch((error: unknown) => this.#failed(errorText(error)))
      .finally(() => {
        this.#running = undefined;
        if (this.#deps.state.role === "main" && !this.#isStopping) this.start();
      });
  }

  /** This process stops, with the successor that it started. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#wake();
    await this.#running;
    this.#successor?.channel.close();
  }

  async #run(): Promise<void> {
    const { log, state, say } = this.#deps;
    if (process.pid === 1) {
      this.#failed("this process is the first one of its container, which would end with it: restart the container instead");
      return;
    }
    state.reload = { state: "starting", at: new Date().toISOString() };
    const successor = await this.#begin();
    log.info("reloading: a new process starts", { pid: successor.pid });
    say(`reloading into process ${successor.pid}`);
    const verdict = await this.#watch(successor);
    if (verdict.act === "hand over" && (await this.#handOver(successor, verdict.why))) return;
    const why = verdict.act === "give up" ? verdict.why : (successor.fault ?? "it did not take over");
    await this.#end(successor, why);
    this.#failed(why, successor, verdict.act === "give up" ? verdict.problem : undefined);
    if (verdict.act === "hand over") await this.#deps.reclaim();
  }

  async #begin(): Promise<Successor> {
    const { command, env, sockets, dataFolder } = this.#deps;
    let successor: Successor | undefined;
    const attach = (socket: Socket, handed: readonly HandedSocket[]): void => {
      const channel: MessageChannel<FromNew> = new MessageChannel(socket, {
        decode: decodeFromNew,
        onMessage: (message) => this.#receive(made, message),
        onEnd: (fault) => {
          made.fault ??= fault ?? (made.heardAt === undefined ? "it ended at its start" : "it ended");
          this.#wake();
        },
      });
      const made: Successor = { pid: 0, channel, startedAt: performance.now(), hasTaken: false };
      successor = made;
      channel.send({ type: "offer", pid: process.pid, sockets: [...handed], announces: true, ...dataFolder });
    };
    const pid = await startSuccessor({ command, env, sockets: sockets.handOver(), attach });
    if (successor === undefined) throw new Error("a successor without a channel");
    successor.pid = pid;
    this.#successor = successor;
    return successor;
  }

  #receive(successor: Successor, message: FromNew): void {
    const now = performance.now();
    switch (message.type) {
      case "state":
        successor.heardAt = now;
        successor.version = message.version;
        successor.readySince = message.ready ? (successor.readySince ?? now) : undefined;
        successor.problem = message.problem;
        if (this.#deps.state.reload.state === "starting") {
          this.#deps.state.reload = { ...this.#deps.state.reload, pid: successor.pid, version: message.version };
        }
        break;
      case "failed":
        successor.fault = message.error;
        successor.code = message.code;
        break;
      case "taken":
        successor.hasTaken = true;
        break;
      case "stop":
        this.#deps.stop("the main process stops");
    }
    this.#wake();
  }

  /** Waits for a verdict. */
  async #watch(successor: Successor): Promise<Exclude<Handover, { act: "wait" }>> {
    for (;;) {
      if (this.#isStopping) return { act: "give up", why: "this process stops" };
      const now = performance.now();
      this.#connectedSince = this.#deps.state.isReady ? (this.#connectedSince ?? now) : undefined;
      const verdict = decideHandover({ ...successor, now, connectedSince: this.#connectedSince });
      if (verdict.act !== "wait") return verdict;
      await this.#pause(lookMs);
    }
  }

  /** Whether it has taken over. */
  async #handOver(successor: Successor, why: string): Promise<boolean> {
    const { log, state, retire } = this.#deps;
    log.info("handing over", { pid: successor.pid, version: successor.version, why });
    successor.channel.send({ type: "takeOver", hosts: state.hosts().map(({ id, names }) => ({ id, names: [...names] })) });
    const end = performance.now() + takeMs;
    while (!successor.hasTaken && successor.fault === undefined && performance.now() < end) await this.#pause(lookMs);
    if (!successor.hasTaken) return false;
    await this.#deps.announce(successor.pid);
    successor.channel.send({ type: "announced" });
    state.reload = { state: "done", pid: successor.pid, version: successor.version, at: new Date().toISOString() };
    state.become("draining");
    log.info("handed over: the sessions of this process run to their end", { pid: successor.pid, sessions: state.sessions });
    if (this.#isWanted) successor.channel.send({ type: "reload" });
    this.#isWanted = false;
    if (this.#isStopping) terminate(successor.pid, "SIGTERM");
    retire();
    return true;
  }

  /** Ends a failed process. When the socket has ended, so has the process. */
  async #end(successor: Successor, why: string): Promise<void> {
    const { log } = this.#deps;
    log.error("stopping the new process, this one continues", { pid: successor.pid, why });
    successor.channel.send({ type: "abandon" });
    if (successor.channel.isOpen) terminate(successor.pid, "SIGTERM");
    const end = performance.now() + stopMs;
    while (successor.channel.isOpen && performance.now() < end) await this.#pause(lookMs);
    if (successor.channel.isOpen) terminate(successor.pid, "SIGKILL");
    successor.channel.destroy();
    this.#successor = undefined;
  }

  #failed(why: string, successor?: Successor, problem?: ConnectionProblem): void {
    const { log, state, say } = this.#deps;
    log.error("reload failed", { reason: why, pid: successor?.pid, version: successor?.version });
    state.reload = {
      state: "failed",
      error: why,
      at: new Date().toISOString(),
      ...(successor !== undefined && { pid: successor.pid, version: successor.version }),
      ...(successor !== undefined && why === successor.fault && { code: successor.code }),
      ...(problem !== undefined && { code: problem.code, disconnected: true }),
    };
    say(`last reload failed: ${state.failedReload?.error ?? why}`);
  }

  /** Waits for an event, at most this long. */
  async #pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function terminate(pid: number, signal: NodeJS.Signals): void {
  // 0 would be our own group.
  if (pid <= 1) return;
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended between the check and the signal.
  }
}
