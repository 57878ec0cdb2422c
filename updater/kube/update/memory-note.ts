import { jsonOf, objectOf, textOf } from "../cluster/json-value.ts";
import type { Workload } from "../cluster/workload.ts";
import { type FoundMemory, memoryAnnotation, parseMemory, statusAnnotation } from "./update-memory.ts";

type Annotated = Pick<Workload, "uid" | "annotations">;

export interface RecalledMemory extends FoundMemory {
  /** The workload does not carry it: the object was replaced by another program. */
  readonly isFromNote: boolean;
}

/**
 * The memory of the updater about a workload: what its annotation has, or the note in the lease if another program has replaced the whole object. A
 * person who wants another attempt removes the annotation alone, and the status stays: that is an empty memory. Pure; never throws.
 */
export function recallMemory(workload: Annotated, note: string): RecalledMemory {
  const own = workload.annotations[memoryAnnotation];
  const { uid, memory } = objectOf(jsonOf(note));
  const isReplaced = uid !== workload.uid || workload.annotations[statusAnnotation] === undefined;
  if (own !== undefined || !isReplaced || typeof memory !== "string") return { ...parseMemory(own), isFromNote: false };
  return { ...parseMemory(memory), isFromNote: true };
}

/** The note to keep after the workload was read or changed. Pure; never throws. */
export function noteOf(workload: Annotated, note: string): string {
  if (recallMemory(workload, note).isFromNote) return note;
  const own = workload.annotations[memoryAnnotation];
  return own === undefined ? "" : JSON.stringify({ uid: workload.uid, memory: textOf(own) });
}
