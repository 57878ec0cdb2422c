import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Program } from "./program.ts";
import type { SessionInstructions } from "./session-instructions.ts";
import type { UnixUser } from "./unix-user.ts";

export interface StartOptions {
  readonly user: UnixUser;
  readonly program: Program;
  readonly env: Readonly<Record<string, string>>;
  /** Path of the program's end of a terminal; left out: three pipes. */
  readonly terminal?: string | undefined;
  /** How to start this program again; see own-command.ts. */
  readonly launch: readonly [string, ...string[]];
}

export interface ProgramExit {
  /** Exactly one of the two. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface StartedProgram {
  /** Present without a terminal. */
  readonly pipes?: { readonly stdin: Writable; readonly stdout: Readable; readonly stderr: Readable };
  /** Resolves when the program runs as the user; throws `denied` with the reason when it could not be started. */
  readonly started: Promise<void>;
  readonly exited: Promise<ProgramExit>;
  /** To the whole process group; nothing happens once the program has ended. */
  signal(name: NodeJS.Signals): void;
}

/** Longest reason that a start-up process may give. */
const maxReason = 2000;

/** Starts the own executable's `__session`, which becomes the user and turns into the program. Leads its own session. */
export function startProgram(options: StartOptions): StartedProgram {
  const { user, program, env, terminal, launch } = options;
  const [command, ...args] = launch;
  const stream = terminal === undefined ? "pipe" : "ignore";
  const child = spawn(command, [...args, "__session"], { stdio: [stream, stream, stream, "pipe"], detached: true, env: {}, cwd: "/" });
  const instructions: SessionInstructions = {
    login: user.login,
    uid: user.uid,
    gid: user.gid,
    home: user.home,
    program: program.path,
    argv: program.argv,
    env,
    ...(terminal !== undefined && { terminal }),
    becomeUser: process.geteuid?.() === 0,
  };
  const exited = exitOf(child);
  const started = startOf(child, JSON.stringify(instructions));
  const { stdin, stdout, stderr } = child;
  return {
    ...(stdin !== null && stdout !== null && stderr !== null && { pipes: { stdin, stdout, stderr } }),
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
