import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { startOf } from "../../core/processes/start-of.ts";

/**
 * A segment's name identifies its writer, `<number>.<pid>-<start>.jsonl`: while one process replaces another, both share the
 * folder, and neither may take a segment that the other still writes. Without an owner: no process writes it.
 */
const pattern = /^(\d{12})(?:\.(\d{1,10})-(\d{1,20}))?\.jsonl$/;

export interface Segment {
  readonly name: string;
  readonly bytes: number;
}

export interface Writer {
  readonly pid: number;
  /** As of `startOf`. */
  readonly start: string;
}

export function segmentName(sequence: number, { pid, start }: Writer): string {
  return `${String(sequence).padStart(12, "0")}.${pid}-${start}.jsonl`;
}

export function sequenceOf(name: string): number {
  return Number.parseInt(name, 10);
}

/** Segments in the folder, oldest first, that no living process writes; `own` is one that has not yet been written to. */
export async function freeSegments(folder: string, own?: Writer): Promise<Segment[]> {
  const found: Segment[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const [, sequence, pid, start] = pattern.exec(name) ?? [];
    if (sequence === undefined) continue;
    const isOwn = own !== undefined && Number(pid) === own.pid && start === own.start;
    // Its pid may belong to another process by now, which started at another time.
    if (pid !== undefined && !isOwn && (await startOf(Number(pid))) === start) continue;
    const facts = await stat(join(folder, name)).catch(() => undefined);
    if (facts !== undefined) found.push({ name, bytes: facts.size });
  }
  return found;
}
