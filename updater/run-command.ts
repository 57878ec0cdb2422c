import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** The complete environment of the child. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly limitMs: number;
  /** Omitted: the command is completed, but never takes longer than `limitMs`. */
  readonly signal?: AbortSignal | undefined;
}

export interface CommandResult {
  /** `exit`: it ended by itself; `limit`: it was ended after `limitMs`; `missing`: the program does not exist. */
  readonly ended: "exit" | "limit" | "missing";
  /** Exit status; 128 + the number of the signal as in a shell, -1 unless it ended by itself. */
  readonly status: number;
  readonly stdout: string;
  /** The last lines of both streams in order, with credentials in addresses masked: for messages. */
  readonly tail: string;
}

const maxStdout = 4 * 1_048_576;
const maxTail = 8192;
/** Time for a group to end after SIGTERM. */
const graceMs = 5000;
/** Time for which its streams are read after its leader has ended: a daemon may hold them forever. */
const streamsMs = 500;

/**
 * Runs a program to its end in a process group of its own, without input. Never throws for its result, only the signal's reason
 * when that ended it. Output beyond 4 MiB is dropped from `stdout`.
 */
export async function runCommand(command: Command): Promise<CommandResult> {
  const { file, args, env, cwd, limitMs, signal } = command;
  signal?.throwIfAborted();
  const child = spawn(file, args, { env, detached: true, stdio: ["ignore", "pipe", "pipe"], ...(cwd !== undefined && { cwd }) });
  const written = collect(child);
  const limit = AbortSignal.timeout(limitMs);
  const stop = AbortSignal.any(signal === undefined ? [limit] : [limit, signal]);
  const killer = endGroup(child, stop);
  try {
    const end = await over(child);
    if (end === "missing") return { ended: "missing", status: -1, ...written() };
    signal?.throwIfAborted();
    if (limit.aborted) return { ended: "limit", status: -1, ...written() };
    return { ended: "exit", status: end, ...written() };
  } finally {
    killer();
    if (limit.aborted || signal?.aborted) signalGroup(child, "SIGKILL");
  }
}

function over(child: ChildProcess): Promise<number | "missing"> {
  return new Promise((resolve) => {
    // It did not run: no such file, not executable, no memory.
    child.once("error", () => resolve("missing"));
    child.once("exit", (code, signal) => {
      const status = code ?? 128 + (signal === "SIGKILL" ? 9 : 15);
      const timer = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, streamsMs);
      child.once("close", () => {
        clearTimeout(timer);
        resolve(status);
      });
    });
  });
}

/** SIGTERM to the whole group when `stop` fires, SIGKILL some seconds later. Returns the function that ends the watch. */
function endGroup(child: ChildProcess, stop: AbortSignal): () => void {
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    signalGroup(child, "SIGTERM");
    timer = setTimeout(() => signalGroup(child, "SIGKILL"), graceMs);
  };
  stop.addEventListener("abort", end, { once: true });
  return () => {
    stop.removeEventListener("abort", end);
    clearTimeout(timer);
  };
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has already ended.
  }
}

function collect(child: ChildProcess): () => { stdout: string; tail: string } {
  const out: Buffer[] = [];
  let length = 0;
  let tail = Buffer.alloc(0);
  const read = (stream: Readable | null, keep: boolean): void => {
    stream?.on("error", () => {});
    stream?.on("data", (chunk: Buffer) => {
      if (keep && length + chunk.length <= maxStdout) out.push(chunk);
      if (keep) length += chunk.length;
      tail = Buffer.concat([tail, chunk]).subarray(-maxTail);
    });
  };
  read(child.stdout, true);
  read(child.stderr, false);
  return () => ({ stdout: Buffer.concat(out).toString(), tail: withoutCredentials(tail.toString()) });
}

/** `https://user:password@host` → `https://***@host`. */
function withoutCredentials(text: string): string {
  return text.replace(/:\/\/[^/\s'"]*@/g, "://***@");
}

/** PATH of an administrator's programs, never the caller's: dpkg refuses to work with the PATH of `su` on Debian, which lacks /usr/sbin. */
export const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
