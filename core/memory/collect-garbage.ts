import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Maximum heap to collect, bytes: the process pauses 2 to 3 ms for each MiB, so a larger heap is left to V8. */
const usualHeap = 256 * 1024 * 1024;

/**
 * Collects all garbage and releases the empty pages. V8 does so at an unpredictable time: after a burst of a thousand
 * connections half of its pages were garbage, sometimes for 30 s and sometimes for the whole measurement.
 * Does nothing when the heap has more than `largestHeap` bytes.
 * The gc function exists in contexts created while the flag is set; this context is collected next time.
 */
export function collectGarbage(largestHeap = usualHeap): void {
  if (getHeapStatistics().total_heap_size > largestHeap) return;
  setFlagsFromString("--expose-gc");
  try {
    runInNewContext("gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })");
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}
