import type { Readable, Writable } from "node:stream";

/**
 * Sets the bytes from which on a stream reads no more, and lets its writer wait (Node 24.21, `highWaterMark`: 64 KiB). A stream of HTTP/2 gets no options when Node
 * makes it. What is neither (a response of HTTP/1.1) stays as it is.
 */
export function setHighWaterMark(stream: Readable | Writable, bytes: number): void {
  for (const name of ["_readableState", "_writableState"]) {
    const state: unknown = Reflect.get(stream, name);
    if (typeof state === "object" && state !== null) Object.assign(state, { highWaterMark: bytes });
  }
}
