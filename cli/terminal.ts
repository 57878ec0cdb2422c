import type { Input } from "./io.ts";

/**
 * Puts a terminal into raw mode; the returned function gives it back, and so does the end of the process by a signal.
 * On anything but a terminal both do nothing.
 */
export function enterRawMode(stdin: Input): () => void {
  if (stdin.isTTY !== true || stdin.setRawMode === undefined) return () => {};
  const before = stdin.isRaw === true;
  stdin.setRawMode(true);
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
