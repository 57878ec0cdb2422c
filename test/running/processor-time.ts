/* oxlint-disable no-empty-pattern -- Vitest reads the pattern to learn which fixtures a hook wants. */
import { readFileSync } from "node:fs";
import { afterAll } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** Processor time of a file's process and of all processes that it has waited for, seconds. */
    processorSeconds?: number;
  }
}

/*
 * Loaded before each story file, which has a process of its own: at its end, `StoryTimes` learns how much processor time it took. What
 * outlives its parents (the Kubernetes cluster that files share, daemons) is not in it.
 */

/** Of a second; the kernel's unit in /proc, on every machine that we build for. */
const ticksPerSecond = 100;

// biome-ignore lint/correctness/noEmptyPattern: as above.
afterAll(({}, file) => {
  const text = readFileSync("/proc/self/stat", "utf8");
  // After the name, which may have spaces: state is field 3; utime, stime, cutime and cstime are 14 to 17 (proc(5)).
  const times = text
    .slice(text.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15);
  file.meta.processorSeconds = times.reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond;
});
