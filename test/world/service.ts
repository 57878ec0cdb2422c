import type { ChildProcess } from "node:child_process";
import { type RunOptions, start } from "./program.ts";

/** A long-running process of ours under test, with its output. */
export interface Service extends AsyncDisposable {
  readonly pid: number;
  /** Everything printed so far, both streams. */
  printed(): string;
  readonly exited: boolean;
  /** Writes to its standard input. */
  type(text: string): void;
  /** SIGTERM, then SIGKILL after 10 s. */
  stop(): Promise<void>;
  /** SIGKILL, at once. */
  kill(): Promise<void>;
}

export function startService(command: string, args: readonly string[], options: RunOptions = {}): Service {
  const child = start(command, args, options);
  const text: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => text.push(chunk.toString()));
  child.stdin?.on("error", () => {});
  child.on("error", (error) => text.push(`\n[${error.message}]`));
  const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (isOver(child)) return;
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
    await gone;
    clearTimeout(timer);
  };
  const stop = (): Promise<void> => end("SIGTERM");
  return {
    pid: child.pid ?? -1,
    printed: () => text.join(""),
    get exited() {
      return isOver(child);
    },
    type: (text) => void child.stdin?.write(text),
    stop,
    kill: () => end("SIGKILL"),
    [Symbol.asyncDispose]: stop,
  };
}

function isOver(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
