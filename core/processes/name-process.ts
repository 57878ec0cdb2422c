import { writeFileSync } from "node:fs";

/** What ps, ss and systemctl call this process, up to 15 bytes; without it Node's name for its main thread. The command line stays. */
export function nameProcess(name: string): void {
  try {
    writeFileSync("/proc/self/comm", name);
  } catch {
    // Another system, or one without /proc: only tools that show it miss it.
  }
}
