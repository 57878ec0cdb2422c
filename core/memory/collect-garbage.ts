import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The process stands still meanwhile, 2 to 3 ms for each MiB: a larger heap is left to V8. Bytes. */
const usualHeap = 256 * 1024 * 1024;

/**
 * Collects all garbage and gives the emptied pages back. V8 does so by itself when it feels like it: after a burst of a thousand
 * connections half of its pages were garbage, sometimes for 30 s and sometimes for as long as we looked.
 * Does nothing when the heap has more than `largestHeap` bytes.
 * The function to ask with exists in contexts that are made while the flag is set; this one is garbage of the next time.
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
