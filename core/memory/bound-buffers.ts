import { getHeapStatistics } from "node:v8";
import { collectGarbage } from "./give-back.ts";

const MiB = 1024 * 1024;
/** Bytes that pass between two looks at the memory. */
const lookBytes = 8 * MiB;
/** Memory of buffers, live ones and garbage, that may come on top of what lived after the last collection. */
const room = 16 * MiB;
/** Maximum heap to collect for that: the pause grows with it. */
const largestHeap = 64 * MiB;
/** Most of a process's time that these collections take, whatever its clients do: one in so many parts. */
const share = 20;

export interface BufferMemory {
  /** Memory outside of the heap that V8 knows of, bytes. */
  readonly external: () => number;
  readonly collect: () => void;
  /** Milliseconds. */
  readonly clock: () => number;
}

const own: BufferMemory = {
  external: () => getHeapStatistics().external_memory,
  collect: () => collectGarbage(largestHeap, "regular"),
  clock: () => performance.now(),
};

/**
 * Returns the function to call with the bytes of each buffer that passes through. Buffers of a stream that outlive two collections of the young generation stay until a full
 * one, which V8 puts off until there are 96 MiB of them (docs/decisions/0031): where memory counts more than that, this one comes first;
 * not where it would take more than a twentieth of the time, as where many clients fill and leave their buffers.
 */
export function boundBuffers({ external, collect, clock }: BufferMemory = own): (bytes: number) => void {
  let passed = 0;
  let kept = Number.POSITIVE_INFINITY;
  let next = Number.NEGATIVE_INFINITY;
  return (bytes) => {
    passed += bytes;
    if (passed < lookBytes) return;
    passed = 0;
    const held = external();
    kept = Math.min(kept, held);
    const begin = clock();
    if (held < kept + room || begin < next) return;
    collect();
    const end = clock();
    next = end + (share - 1) * (end - begin);
    kept = external();
  };
}
