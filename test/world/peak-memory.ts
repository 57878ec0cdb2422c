import { readFile, writeFile } from "node:fs/promises";
import { rounds } from "./rounds.ts";

/**
 * The most that a stream may add to its agent, KiB. A full collection may wait until 96 MiB of buffers lie there (docs/decisions/0031); a short
 * stream does not leave that many.
 */
export const streamGrowth = rounds(130, 50) * 1024;
/** The most that one of a database may add, KiB: there the agent collects earlier (core/memory/bound-buffers). */
export const databaseGrowth = 50 * 1024;

/** The most memory that a process has held since `begin`, KiB. */
export interface PeakMemory {
  /** Beyond what it held in the beginning. */
  growth(): Promise<number>;
}

/** Begins to watch the resident memory of a process; as root. */
export async function watchMemory(pid: number): Promise<PeakMemory> {
  // The kernel sets the peak to what is held now.
  await writeFile(`/proc/${pid}/clear_refs`, "5");
  const before = await kib(pid, "VmRSS");
  return { growth: async () => (await kib(pid, "VmHWM")) - before };
}

async function kib(pid: number, name: string): Promise<number> {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]);
}
