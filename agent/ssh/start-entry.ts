import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { PamWay } from "./pam/open-pam.ts";

/** An internal command of this program that becomes a user. */
export interface EntryOptions {
  readonly entry: "__session" | "__sftp";
  /** How to start this program again; see own-command.ts. */
  readonly launch: readonly [string, ...string[]];
  /** Written to descriptor 3 as JSON. */
  readonly instructions: object;
  /** Three pipes as standard streams; else none. */
  readonly hasPipes: boolean;
  /** A pipe at descriptor 4 through which the process reports. */
  readonly hasReports?: boolean;
  /** Goes through PAM: `__sftp` first, and it begins as root after it; `__session` when it is ready for its program. */
  readonly pam?: PamWay | undefined;
}

export interface ProgramExit {
  /** Exactly one of the two. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface StartedProgram {
  /** Left out: no process could be made. */
  readonly pid?: number;
  /** Present without a terminal. */
  readonly pipes?: { readonly stdin: Writable; readonly stdout: Readable; readonly stderr: Readable };
  readonly reports?: Readable;
  /** Resolves when the program runs as the user; throws `denied` with the reason when it could not be started. */
  readonly started: Promise<void>;
  readonly exited: Promise<ProgramExit>;
  /** To the whole process group; nothing happens once the program has ended. */
  signal(name: NodeJS.Signals): void;
}

/** Longest reason that a start-up process may give. */
const maxReason = 2000;

/** Starts the own executable again. The process leads its own session. */
export function startEntry({ entry, launch, instructions, hasPipes, hasReports = false, pam }: EntryOptions): StartedProgram {
  const [command, ...args] = launch;
  const stream = hasPipes ? "pipe" : "ignore";
  const more = hasReports ? (["pipe"] as const) : [];
  const stdio: (number | "pipe" | "ignore")[] = [stream, stream, stream, "pipe", ...more];
  const options = { detached: true, cwd: "/" };
  const child =
    pam !== undefined && entry === "__sftp"
      ? spawn(`/proc/self/fd/${pam.program}`, ["files", "platform", entry], { ...options, stdio: [...stdio, pam.own], env: { ...pam.variables } })
      : spawn(command, [...args, entry], { ...options, stdio: pam === undefined ? stdio : [...stdio, pam.program], env: {} });
  const exited = exitOf(child);
  const started = startOf(child, JSON.stringify(instructions));
  const { stdin, stdout, stderr } = child;
  const reports = child.stdio[4] as Readable | null | undefined;
  return {
    ...(child.pid !== undefined && { pid: child.pid }),
    ...(stdin !== null && stdout !== null && stderr !== null && { pipes: { stdin, stdout, stderr } }),
    ...(reports && { reports }),
    started,
    exited,
    signal: (name) => signalGroup(child, name),
  };
}

function exitOf(child: ChildProcess): Promise<ProgramExit> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", () => resolve({ code: 255, signal: null }));
  });
}

/** Hands over the instructions; an answer is an error, the end without one is the program's start. */
function startOf(child: ChildProcess, instructions: string): Promise<void> {
  const started = new Promise<void>((resolve, reject) => {
    const refuse = (reason: string, cause?: unknown): void =>
      reject(new PlatformError("denied", `the session could not be started: ${reason}`, { cause }));
    child.once("error", (cause) => refuse("no process could be made", cause));
    const channel = child.stdio[3] as (Readable & Writable) | null | undefined;
    if (!channel) return;
    let reason = "";
    channel.on("data", (chunk: Buffer) => {
      reason = (reason + chunk.toString("utf8")).slice(0, maxReason);
    });
    channel.on("error", (cause) => refuse("its process ended early", cause));
    channel.once("close", () => (reason === "" ? resolve() : refuse(reason)));
    channel.end(instructions);
  });
  started.catch(() => {});
  return started;
}

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, name);
  } catch {
    // The group ended between the look and the signal.
  }
}
