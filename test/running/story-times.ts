import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

const root = resolve(import.meta.dirname, "../..");
/** Seconds that each story file took, by its path, the last time that it ran in this checkout. */
const timesFile = join(root, ".cache/reports/story-times.json");
const shown = 10;

type Times = readonly (readonly [path: string, seconds: number])[];

/**
 * Reporter of the stories: ends the run with the files that were slowest and those that cost the most processor time
 * (`processor-time`), and keeps the time of each for `LongestFirst`.
 */
export class StoryTimes implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const stories = modules.filter((module) => module.project.name.startsWith("stories"));
    if (stories.length === 0) return;
    const timesBy = (seconds: (module: TestModule) => number): Times =>
      stories.map((module) => [relative(root, module.moduleId), seconds(module)] as const);
    const times = timesBy(secondsOf);
    keep({ ...readTimes(), ...Object.fromEntries(times) });
    print("slowest", times);
    print(
      "most processor time",
      timesBy((module) => module.meta().processorSeconds ?? 0),
    );
  }
}

function print(title: string, times: Times): void {
  const sum = times.reduce((total, [, seconds]) => total + seconds, 0);
  process.stdout.write(`\n${title} of ${times.length} story files, ${(sum / 60).toFixed(1)} minutes in all:\n`);
  const first = times.toSorted((a, b) => b[1] - a[1]).slice(0, shown);
  for (const [path, seconds] of first) process.stdout.write(`${seconds.toFixed(1).padStart(7)} s  ${path}\n`);
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
