import { readFile } from "node:fs/promises";
import { cpus } from "node:os";
import { resolve } from "node:path";

/** The runtime that is inside the executable, as the npm package has it. */
export const bareNode: string = resolve(import.meta.dirname, "../node_modules", `node-linux-${process.arch}`, "bin/node");

export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const median = sorted.length % 2 === 1 ? sorted[Math.floor(middle)] : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
  return { min: sorted[0] ?? Number.NaN, median: median ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN };
}

/** The value that this share of all, in percent, does not exceed. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN;
}

/** Runs every candidate once a round, in turn, so that all see the same machine; the figures of each, in rounds' order. */
export async function interleave<Name extends string>(
  rounds: number,
  candidates: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(candidates) as Name[];
  const figures = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) figures[name].push(await candidates[name]());
  }
  return figures;
}

/** Median of the ratios a/b, round by round. */
export function ratio(a: readonly number[], b: readonly number[]): Spread {
  return spread(a.map((value, index) => value / (b[index] ?? Number.NaN)));
}

const ticksPerSecond = 100;

/** User and system time that a process has used, seconds. */
export async function cpuSeconds(pid: number): Promise<number> {
  return (await cpuOf(pid)).own;
}

/** Of a process, and of its children that have ended; s. */
export async function cpuOf(pid: number): Promise<{ own: number; children: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const sum = (first: number): number => (Number(fields[first]) + Number(fields[first + 1])) / ticksPerSecond;
  return { own: sum(11), children: sum(13) };
}

/** Time that all processors of the machine have worked for anybody since it started, s. */
export function machineSeconds(): number {
  const worked = cpus().map(({ times }) => times.user + times.nice + times.sys + times.irq);
  return worked.reduce((sum, ms) => sum + ms, 0) / 1000;
}

/** Of processes and all that they have started, as long as these run; s. */
export async function cpuOfTrees(pids: readonly number[]): Promise<number> {
  const times = pids.map(async (pid) => {
    const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).split(" ").filter((one) => one !== "");
    return (await cpuSeconds(pid)) + (await cpuOfTrees(children.map(Number)));
  });
  return (await Promise.all(times)).reduce((sum, one) => sum + one, 0);
}

/** Resident and proportional set size of a process, KiB. */
export async function memory(pid: number): Promise<{ rss: number; pss: number; anonymous: number }> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1]);
  return { rss: field("Rss"), pss: field("Pss"), anonymous: field("Anonymous") };
}

export function figure(value: number, digits = 2): string {
  return Number.isFinite(value) ? value.toFixed(digits) : "none";
}

/** Texts of parts that are measured one after the other. Each is printed when it is there: a later one may fail after half an hour. */
export async function inTurn(parts: readonly (() => Promise<string>)[]): Promise<string> {
  const texts: string[] = [];
  for (const measure of parts) {
    const text = await measure();
    process.stderr.write(`${text}\n`);
    texts.push(text);
  }
  return texts.join("\n");
}
