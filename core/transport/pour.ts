import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { limitPieces } from "../bytes/limit-pieces.ts";

/**
 * Writes what `from` gives to `to`, at the pace of `to`, in bytes and in pieces: what comes meanwhile is put together by `from` (core/node-internals/gather-pieces.ts).
 * It does not resume a paused `from` at first, and passes neither ends nor errors on. Returns the function that undoes it.
 */
export function pour(from: Readable, to: Writable): () => void {
  // What nobody can take any more stays where it is, as with `pipe`.
  const onDrain = (): void => {
    if (!to.writableEnded) from.resume();
  };
  const write = inOnePiece(to, limitPieces(to, onDrain));
  const onData = (chunk: Buffer): void => {
    if (to.writableEnded || !write(chunk)) from.pause();
  };
  from.on("data", onData);
  to.on("drain", onDrain);
  return () => {
    from.off("data", onData);
    to.off("drain", onDrain);
  };
}

/** Data of one tick leaves a socket in one system call: a tunnel's read holds several packets of a channel. */
function inOnePiece(to: Writable, write: (chunk: Buffer) => boolean): (chunk: Buffer) => boolean {
  if (!(to instanceof Socket)) return write;
  let corked = false;
  const uncork = (): void => {
    corked = false;
    to.uncork();
  };
  return (chunk) => {
    if (!corked) {
      corked = true;
      to.cork();
      process.nextTick(uncork);
    }
    return write(chunk);
  };
}
