import { Socket } from "node:net";
import { errorText, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import type { HandedSocket } from "../../../core/transport/listen-sockets.ts";
import { version } from "../../../core/versions/version.ts";
import type { HostNames } from "../services.ts";
import { decodeFromOld, type FromOld, MessageChannel } from "./handover-channel.ts";
import type { ConnectionProblem } from "./process-state.ts";
import { handoverVariable } from "./start-successor.ts";

export interface SuccessorRole {
  readonly log: Log;
  /** Everything is ready, as far as possible before it accepts connections. */
  readonly ready: () => boolean;
  /** Why it is not connected, as far as it knows. */
  readonly problem: () => ConnectionProblem | undefined;
  /** Becomes the main process. Rejects when it cannot. */
  readonly takeOver: (hosts: readonly HostNames[]) => Promise<void>;
  /** The service manager knows that this is the main process. */
  readonly announced: () => void;
  readonly reload: () => void;
  readonly stop: (reason: string) => void;
}

/** Time for the first message of the previous process, ms. */
const offerMs = 10_000;
/** Interval of our reports to it, ms. */
const stateMs = 1_000;

/** The process that this one replaces, as seen from here. */
export class Predecessor {
  readonly pid: number;
  /** It names the main process to the service manager; an earlier version does not. */
  readonly announces: boolean;
  readonly sockets: readonly HandedSocket[];
  /** Folder of its state; an earlier version does not report it. */
  readonly dataDir: string | undefined;
  /** Identity of that folder at its start; an earlier version does not report it. */
  readonly folder: string | undefined;
  readonly #channel: MessageChannel<FromOld>;
  #role: SuccessorRole | undefined;
  #early: FromOld[] = [];
  #hasTakenOver = false;
  #isAbandoned = false;
  #hasEnded = false;
  #timer: NodeJS.Timeout | undefined;

  private constructor(channel: MessageChannel<FromOld>, { pid, announces = false, sockets, dataDir, folder }: Extract<FromOld, { type: "offer" }>) {
    this.#channel = channel;
    this.pid = pid;
    this.announces = announces;
    this.sockets = sockets;
    this.dataDir = dataDir;
    this.folder = folder;
  }

  /** Undefined for a process that is not a successor. Throws PlatformError when it makes no offer. */
  static async find(env: Readonly<Record<string, string | undefined>>): Promise<Predecessor | undefined> {
    const fd = Number(env[handoverVariable]);
    if (env[handoverVariable] === undefined) return undefined;
    if (!Number.isInteger(fd) || fd < 3) throw new PlatformError("invalid", `${handoverVariable} is not a file descriptor`);
    const { promise, resolve, reject } = Promise.withResolvers<Predecessor>();
    const fail = (reason: string): void => reject(new PlatformError("unavailable", `the previous process made no offer: ${reason}`));
    const timer = setTimeout(() => fail("it sent nothing"), offerMs);
    let found: Predecessor | undefined;
    const channel = new MessageChannel(new Socket({ fd }), {
      decode: decodeFromOld,
      onMessage: (message) => {
        if (found !== undefined) return found.#receive(message);
        if (message.type !== "offer") return fail(`it began with ${message.type}`);
        found = new Predecessor(channel, message);
        resolve(found);
      },
      onEnd: (fault) => (found === undefined ? fail(fault ?? "it has ended") : found.#ended()),
    });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Reports its state every second, and follows the other's messages. */
  follow(role: SuccessorRole): void {
    this.#role = role;
    const tell = (): void => this.#channel.send({ type: "state", pid: process.pid, version, ready: role.ready(), problem: role.problem() });
    tell();
    this.#timer = setInterval(tell, stateMs).unref();
    for (const message of this.#early.splice(0)) this.#receive(message);
    if (this.#hasEnded) this.#ended();
  }

  /** Reports why this process cannot replace it: the text, and a code, so that the updater can tell a refused configuration from a broken version. */
  failed(thrown: unknown): void {
    this.#channel.send({ type: "failed", error: errorText(thrown).slice(0, 4_000), code: toPlatformError(thrown).code });
    this.close();
  }

  /** This process stops: the previous one stops too, even with running sessions. */
  stopping(): void {
    if (this.#hasTakenOver) this.#channel.send({ type: "stop" });
    this.close();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#channel.close();
  }

  #receive(message: FromOld): void {
    const role = this.#role;
    if (role === undefined) {
      this.#early.push(message);
      return;
    }
    if (message.type === "takeOver") this.#takeOver(message.hosts, role);
    if (message.type === "announced") role.announced();
    if (message.type === "reload") role.reload();
    if (message.type === "abandon") {
      this.#isAbandoned = true;
      role.stop("the previous process continues alone");
    }
  }

  /** It was killed, or has drained. */
  #ended(): void {
    this.#hasEnded = true;
    clearInterval(this.#timer);
    const role = this.#role;
    if (role === undefined || this.#hasTakenOver || this.#isAbandoned) return;
    role.log.warn("the previous process is gone: taking over at once");
    this.#takeOver([], role);
  }

  #takeOver(hosts: readonly HostNames[], role: SuccessorRole): void {
    if (this.#hasTakenOver || this.#isAbandoned) return;
    this.#hasTakenOver = true;
    clearInterval(this.#timer);
    role.takeOver(hosts).then(
      () => this.#channel.send({ type: "taken" }),
      (thrown: unknown) => {
        this.failed(thrown);
        role.stop(`it could not take over: ${errorText(thrown)}`);
      },
    );
  }
}
