import { Socket } from "node:net";
import type { Duplex } from "node:stream";

/**
 * Time without progress for a side that has something to take, ms. The kernel's buffers hide progress: of a client that read 100 KB/s from 127.0.0.1, none was
 * to be seen for 98 s.
 */
const usualMs = 300_000;
/** Looks within that time. They are counted, not their time: a process that was stopped for long ends nothing. */
const looks = 5;

export interface StuckLimit {
  /** Default: 5 minutes. */
  readonly stuckMs?: number | undefined;
  readonly stuck: () => void;
}

/**
 * Calls `stuck` once `to` has taken nothing for `stuckMs`, or up to a fifth more, while something waited for it: data, or its end. A stream for which nothing
 * waits may be quiet for as long as it likes. Returns the function that undoes it.
 */
export function limitStuck(to: Duplex, { stuckMs = usualMs, stuck }: StuckLimit): () => void {
  let before = takenBy(to);
  let idle = 0;
  const look = (): void => {
    const now = takenBy(to);
    const isWaitedFor = to.writableLength > 0 || (to.writableEnded && !to.writableFinished);
    idle = isWaitedFor && now === before ? idle + 1 : 0;
    before = now;
    if (idle === looks) stuck();
  };
  const timer = setInterval(look, stuckMs / looks).unref();
  return () => clearInterval(timer);
}

/** Bytes that a stream has taken, counted from any number: streams other than sockets do not count what is written, which comes to an end before they matter. */
function takenBy(to: Duplex): number {
  return (to instanceof Socket ? to.bytesWritten : 0) - to.writableLength;
}
