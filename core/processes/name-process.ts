import { writeFileSync } from "node:fs";

/** Sets the process's name in ps, ss and systemctl, up to 15 bytes, in place of Node's name for its main thread. The command line stays. */
export function nameProcess(name: string): void {
  try {
    writeFileSync("/proc/self/comm", name);
  } catch {
    // Another system, or one without /proc: only such tools are affected.
  }
}
