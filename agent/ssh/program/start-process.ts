import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";

/** A process that becomes a user. */
export interface ProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Written to descriptor 3. */
  readonly instructions?: string;
  /** Three pipes as standard streams; else none. */
  readonly hasPipes: boolean;
  /** A pipe at descriptor 4 through which the process reports. */
  readonly hasReports?: boolean;
  /** A descriptor of ours that becomes 5, after that of reports. */
  readonly more?: number | undefined;
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

/**
 * Starts it as the leader of its own session. What it says at descriptor 3 before it closes it is why it could not become the user or
 * start what it should. Throws `denied` for what no process can be told, such as a NUL in a command.
 */
export function startProcess({ command, args, env, instructions = "", hasPipes, hasReports = false, more }: ProcessOptions): StartedProgram {
  const stream = hasPipes ? "pipe" : "ignore";
  const stdio: (number | "pipe" | "ignore")[] = [stream, stream, stream, "pipe"];
  if (hasReports) stdio.push("pipe");
  if (more !== undefined) stdio.push(more);
  let child: ChildProcess;
  try {
    child = spawn(command, [...args], { argv0: "platform", detached: true, cwd: "/", stdio, env: { ...env } });
  } catch (cause) {
    throw notStarted(errorText(cause), cause);
  }
  const exited = exitOf(child);
  const started = startOf(child, instructions);
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
    const refuse = (reason: string, cause?: unknown): void => reject(notStarted(reason, cause));
    child.once("error", (cause) => refuse("no process could be made", cause));
    const channel = child.stdio[3] as (Readable & Writable) | null | undefined;
    if (!channel) return;
    let reason = "";
    channel.on("data", (chunk: Buffer) => {
      reason = (reason + chunk.toString("utf8")).slice(0, maxReason);
    });
    channel.on("error", (cause) => refuse("its process ended early", cause));
    channel.once("close", () => (reason === "" ? resolve() : refuse(reason)));
    // Who is told nothing may have closed it already.
    if (instructions !== "") channel.end(instructions);
  });
  started.catch(() => {});
  return started;
}

function notStarted(reason: string, cause: unknown): PlatformError {
  return new PlatformError("denied", `the session could not be started: ${reason}`, { cause });
}

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, name);
  } catch {
    // The group ended between the look and the signal.
  }
}
