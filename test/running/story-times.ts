import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

const root = resolve(import.meta.dirname, "../..");
/** Seconds that each story file took, by its path, the last time that it ran in this checkout. */
const timesFile = join(root, ".cache/reports/story-times.json");
const shown = 10;

/** Reporter of the stories: ends the run with the slowest files, and keeps the time of each for `LongestFirst`. */
export class StoryTimes implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const times = modules
      .filter((module) => module.project.name.startsWith("stories"))
      .map((module) => [relative(root, module.moduleId), secondsOf(module)] as const)
      .sort((a, b) => b[1] - a[1]);
    if (times.length === 0) return;
    keep({ ...readTimes(), ...Object.fromEntries(times) });
    const sum = times.reduce((total, [, seconds]) => total + seconds, 0);
    process.stdout.write(`\nslowest of ${times.length} story files, which took ${(sum / 60).toFixed(1)} minutes in all:\n`);
    for (const [path, seconds] of times.slice(0, shown)) process.stdout.write(`${seconds.toFixed(1).padStart(7)} s  ${path}\n`);
  }
}

/** Times of earlier runs; empty in a fresh checkout. */
export function readTimes(): Readonly<Record<string, number>> {
  try {
    return JSON.parse(readFileSync(timesFile, "utf8")) as Record<string, number>;
  } catch {
    return {};
  }
}

/** Its tests and its hooks: clusters and machines start in these. */
function secondsOf(module: TestModule): number {
  const { duration, collectDuration } = module.diagnostic();
  return (duration + collectDuration) / 1000;
}

function keep(times: Readonly<Record<string, number>>): void {
  mkdirSync(dirname(timesFile), { recursive: true });
  const half = `${timesFile}.${process.pid}`;
  writeFileSync(half, JSON.stringify(times, undefined, 1));
  renameSync(half, timesFile);
}
