import { writeFileSync } from "node:fs";

/**
 * Makes the status to which `work` resolves that of the process. Until then the status is a failure: a promise that never settles
 * lets the event loop run empty, which must not look like success. `unfinished` reports it.
 */
export function exitWith(work: Promise<number>, unfinished: () => void): void {
  process.exitCode = 1;
  process.once("beforeExit", unfinished);
  void work.then((status) => {
    process.off("beforeExit", unfinished);
    process.exitCode = status;
    // A forgotten handle must not keep a finished command alive; output has had time to drain.
    setTimeout(() => process.exit(), 2000).unref();
  });
}

/** Sets the process's name in ps, ss and systemctl, up to 15 bytes, in place of Node's name for its main thread. The command line stays. */
export function nameProcess(name: string): void {
  try {
    writeFileSync("/proc/self/comm", name);
  } catch {
    // Another system, or one without /proc: only such tools are affected.
  }
}

/**
 * Lets V8 take code caches: it compares its options with those that a cache was made with, and the caches of the runtime's own modules were made without
 * ours, so each start compiled up to a hundred of them. The heap is set up by now, and the option has done its work (docs/decisions/0031); back at its
 * default it does not count. Call it before anything else is loaded; scripts/build/make-code-cache.ts does the same.
 */
export function takeCodeCaches(): void {
  process.getBuiltinModule("node:v8").setFlagsFromString("--initial-old-space-size=0");
}
