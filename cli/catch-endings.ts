import { PlatformError } from "../core/errors/platform-error.ts";

const endings = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A request to end this process, held back until what is secret and unfinished is gone. */
export interface CaughtEnding extends Disposable {
  /** Aborted by the first signal to end; the second one ends the process at once. */
  readonly signal: AbortSignal;
  /** Ends the process as the caught signal would have; nothing without one. */
  end(): void;
}

/** Catches signals to end until it is disposed of. */
export function catchEndings(): CaughtEnding {
  const stop = new AbortController();
  let caught: NodeJS.Signals | undefined;
  const release = (): void => {
    for (const name of endings) process.off(name, onEnding);
  };
  const onEnding = (name: NodeJS.Signals): void => {
    release();
    caught = name;
    stop.abort(new PlatformError("unavailable", `stopped by ${name}`));
  };
  for (const name of endings) process.on(name, onEnding);
  return { signal: stop.signal, end: () => caught !== undefined && process.kill(process.pid, caught), [Symbol.dispose]: release };
}
