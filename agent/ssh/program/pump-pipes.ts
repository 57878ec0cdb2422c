import type { ServerChannel } from "ssh2";
import { pump } from "../../service/pump.ts";
import type { StartedProgram } from "./start-program.ts";

/** Connects a channel with the pipes of a program; a program with a terminal has none. Resolves when all of the program's output has been sent. */
export async function pumpPipes(stream: ServerChannel, pipes: StartedProgram["pipes"], gone: AbortSignal): Promise<void> {
  if (pipes === undefined) return;
  // A program that closes its standard input early is not an error.
  pipes.stdin.on("error", () => stream.resume());
  void pump(stream, pipes.stdin, gone).then(() => pipes.stdin.end());
  await Promise.all([pump(pipes.stdout, stream, gone), pump(pipes.stderr, stream.stderr, gone)]);
}
