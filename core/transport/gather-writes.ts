import type { Writable } from "node:stream";

/** Corked until the events at hand are handled. */
const gathered: Writable[] = [];

/**
 * Holds back what is written to a stream until the events at hand are handled: the head of a message, its body and its end leave in one piece, and so do
 * messages of several connections that share a tunnel.
 */
export function gatherWrites(stream: Writable): void {
  stream.cork();
  gathered.push(stream);
  if (gathered.length === 1) setImmediate(release);
}

function release(): void {
  for (const stream of gathered.splice(0)) stream.uncork();
}
