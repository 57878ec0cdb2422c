import type { ChildProcess } from "node:child_process";
import type { User } from "./cluster-user.ts";
import { program, start } from "./program.ts";
import { until } from "./until.ts";

/** A session that has begun, with what it prints. */
export interface Dialogue extends AsyncDisposable {
  printed(): string;
  /** The exit status of tsh. */
  readonly ended: Promise<number | null>;
}

/** `command` must print "up" first. */
export async function startSession(user: User, target: string, command: string, netns?: string): Promise<Dialogue> {
  const child: ChildProcess = start(program("tsh"), ["ssh", target, command], { env: { TSH_HOME: user.home }, netns });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  await until("the session runs", () => {
    if (child.exitCode !== null) throw new Error(`it ended: ${printed}`);
    return printed.includes("up");
  });
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  return { printed: () => printed, ended, [Symbol.asyncDispose]: stop };
}
