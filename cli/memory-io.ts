import { PassThrough } from "node:stream";
import type { CliIo, Input, Output } from "./io.ts";

export interface MemoryIo extends CliIo {
  readonly stdin: PassThrough & Input;
  readonly stdout: PassThrough & Output;
  readonly stderr: PassThrough & Output;
  /** Everything printed so far. */
  readonly out: () => string;
  readonly err: () => string;
}

/** Streams in memory, for tests. `input` is all of standard input; left out, it stays open. */
export function memoryIo(env: Readonly<Record<string, string>> = {}, input?: string): MemoryIo {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  stdout.on("data", (chunk: Buffer) => out.push(chunk));
  stderr.on("data", (chunk: Buffer) => err.push(chunk));
  if (input !== undefined) stdin.end(input);
  return {
    env,
    stdin,
    stdout,
    stderr,
    program: ["/usr/bin/tsh"],
    out: () => Buffer.concat(out).toString("utf8"),
    err: () => Buffer.concat(err).toString("utf8"),
  };
}
