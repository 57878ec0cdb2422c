import { constants } from "node:os";
import { errorText } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { hostAddon } from "./host-addon.ts";

/** How a program ended: exactly one of the two is not null. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Spawned {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** To its whole process group; nothing happens once the program has ended. */
  signal(name: NodeJS.Signals): void;
}

/** Text for the system, which takes any bytes but NUL. */
export type SystemText = string | Buffer;

export interface SpawnOptions {
  readonly path: string;
  /** argv[0] first. */
  readonly argv: readonly SystemText[];
  readonly env: Readonly<Record<string, SystemText>>;
  /** Our descriptors; the index is the program's number. Nothing else that this process opened is passed on. */
  readonly fds: readonly number[];
}

const running = new Map<number, (exit: Exit) => void>();
const signals = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]));

/** Starts a program as the leader of its own session. Throws Error with the system's message. */
export function spawn({ path, argv, env, fds }: SpawnOptions): Spawned {
  const words = argv.map(bytesOf);
  const variables = Object.entries(env).map(([name, value]) => Buffer.concat([Buffer.from(`${name}=`), bytesOf(value)]));
  const file = Buffer.from(path);
  if ([file, ...words, ...variables].some((bytes) => bytes.includes(0))) throw new Error("its command or environment has a NUL");
  if (running.size === 0) process.on("SIGCHLD", takeEnds);
  let pid: number;
  try {
    pid = native().startProgram([file], words, variables, fds);
  } catch (thrown) {
    if (running.size === 0) process.off("SIGCHLD", takeEnds);
    throw thrown;
  }
  const exited = new Promise<Exit>((resolve) => running.set(pid, resolve));
  return { pid, exited, signal: (name) => signalGroup(pid, name) };
}

function bytesOf(text: SystemText): Buffer {
  return typeof text === "string" ? Buffer.from(text) : text;
}

/** Two connected sockets, ours first. */
export function socketPair(): [ours: number, theirs: number] {
  return native().socketPair();
}

/** Two connected sockets that keep packets apart, ours first. */
export function packetPair(): [ours: number, theirs: number] {
  return native().packetPair();
}

/** A descriptor that came through our end of such a pair, with its id; undefined when none has come. */
export function takeDescriptor(fd: number): [id: number, descriptor: number] | undefined {
  return native().takeDescriptor(fd);
}

function native() {
  const addon = hostAddon();
  if (addon === undefined) throw new Error("only the built executable can start programs, and this runs from source");
  return addon;
}

function takeEnds(): void {
  for (const [pid, resolve] of running) {
    const status = native().takeEnd(pid);
    if (status === undefined) continue;
    running.delete(pid);
    resolve(exitOf(status));
  }
  if (running.size === 0) process.off("SIGCHLD", takeEnds);
}

/** As waitpid(2) packs it. */
function exitOf(status: number): Exit {
  const signal = status & 0x7f;
  return signal === 0 ? { code: (status >> 8) & 0xff, signal: null } : { code: null, signal: signals.get(signal) ?? "SIGKILL" };
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  // Its pid is not reused until its exit status is collected.
  if (!running.has(pid)) return;
  try {
    process.kill(-pid, name);
  } catch {
    // The group ended between the check and the signal.
  }
}

/** Ends the utmp record of a process; 0: of all that have ended, as after a kill of the agent. Bookkeeping: a failure is only logged. */
export function endLogin(pid: number, log: Log): void {
  if (process.geteuid?.() !== 0) return;
  try {
    hostAddon()?.recordLogout(pid);
  } catch (thrown) {
    log.debug("could not record the end of a login in utmp", { error: errorText(thrown) });
  }
}
