import { spawnSync } from "node:child_process";
import type { Input } from "./io.ts";
import { encodeTerminalModes } from "./terminal-modes.ts";

/**
 * Puts a terminal into raw mode, so that bytes pass unchanged both ways; the returned function restores it, and so does the end
 * of the process by a signal. On anything but a terminal both do nothing.
 */
export function enterRawMode(stdin: Input): () => void {
  if (stdin.isTTY !== true || stdin.setRawMode === undefined) return () => {};
  const before = stdin.isRaw === true;
  stdin.setRawMode(true);
  // Node's raw mode leaves output processing on, which puts a CR before each LF, and some of the input's; leaving restores all of it.
  stty(stdin, ["-opost", "-inlcr", "-igncr", "-ixany", "-ixoff"]);
  let done = false;
  const leave = (): void => {
    if (done) return;
    done = true;
    process.off("exit", leave);
    for (const signal of endings) process.off(signal, ended);
    stdin.setRawMode?.(before);
  };
  const ended = (signal: NodeJS.Signals): void => {
    leave();
    process.kill(process.pid, signal);
  };
  process.on("exit", leave);
  for (const signal of endings) process.on(signal, ended);
  return leave;
}

const endings = ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"] as const;

/** Modes of a terminal for the remote side, see `encodeTerminalModes`; undefined where they are unreadable. */
export function terminalModes(stdin: Input): Buffer | undefined {
  const printed = stty(stdin, ["-a"]);
  return printed === undefined ? undefined : encodeTerminalModes(printed);
}

/** Time limit of stty(1), ms. */
const sttyMs = 2000;

/** Runs stty(1) on a terminal, for what Node does not support. Undefined on failure: the terminal then stays unchanged. */
function stty(stdin: Input, args: readonly string[]): string | undefined {
  if (stdin.isTTY !== true || stdin.fd === undefined) return undefined;
  const { status, stdout } = spawnSync("stty", args, {
    stdio: [stdin.fd, "pipe", "ignore"],
    env: { PATH: "/usr/bin:/bin:/usr/local/bin", LC_ALL: "C" },
    encoding: "utf8",
    timeout: sttyMs,
  });
  return status === 0 ? stdout : undefined;
}
