import { once } from "node:events";
import type { User } from "./cluster-user.ts";
import { program, start } from "./program.ts";
import { until } from "./until.ts";

export interface RunningTunnel extends AsyncDisposable {
  readonly port: number;
  /** What it has printed. */
  readonly said: () => string;
}

/** `tsh proxy db NAME`, with the port that it prints. */
export async function databaseTunnel(user: Pick<User, "home">, name: string, more: readonly string[] = []): Promise<RunningTunnel> {
  return await openTunnel(user, ["db", name, ...more]);
}

/** `tsh proxy app NAME`, with the port that it prints. */
export async function appTunnel(
  user: Pick<User, "home">,
  name: string,
  more: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<RunningTunnel> {
  return await openTunnel(user, ["app", name, ...more], env);
}

async function openTunnel({ home }: Pick<User, "home">, args: readonly string[], env = {}): Promise<RunningTunnel> {
  const running = start(program("tsh"), ["proxy", ...args], { env: { TSH_HOME: home, ...env } });
  let said = "";
  for (const stream of [running.stdout, running.stderr]) stream?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const port = await until("it listens", () => {
    if (running.exitCode !== null) throw new Error(said);
    return Number(/127\.0\.0\.1:(\d+)/.exec(said)?.[1]) || undefined;
  });
  return {
    port,
    said: () => said,
    [Symbol.asyncDispose]: async () => {
      const closed = once(running, "close");
      running.kill("SIGINT");
      await closed;
    },
  };
}
