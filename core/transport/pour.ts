import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { limitPieces } from "../bytes/limit-pieces.ts";

/** Holds up single chunks. */
export interface Gate {
  /** Undefined: the chunk goes on at once. A promise: its bytes do in its place, and nothing else does before. It never rejects. */
  readonly look: (chunk: Buffer) => Promise<Buffer> | undefined;
  /** Of `pour`: resolves once what is held up has gone on. */
  held: Promise<void> | undefined;
}

/**
 * Writes what `from` gives to `to`, at the pace of `to`, in bytes and in pieces: what comes meanwhile is put together by `from` (core/node-internals/gather-pieces.ts).
 * It does not resume a paused `from` at first, and passes neither ends nor errors on. Returns the function that undoes it.
 */
export function pour(from: Readable, to: Writable, gate?: Gate): () => void {
  // What nobody can take any more stays where it is, as with `pipe`.
  const onDrain = (): void => {
    if (!to.writableEnded && gate?.held === undefined) from.resume();
  };
  const write = inOnePiece(to, limitPieces(to, onDrain));
  let isStopped = false;
  const hold = (ahead: Gate, bytes: Promise<Buffer>): void => {
    from.pause();
    ahead.held = bytes.then((looked) => {
      ahead.held = undefined;
      if (!isStopped && !to.writableEnded && write(looked)) from.resume();
    });
  };
  const onData = (chunk: Buffer): void => {
    const bytes = gate?.look(chunk);
    if (gate !== undefined && bytes !== undefined) hold(gate, bytes);
    else if (to.writableEnded || !write(chunk)) from.pause();
  };
  from.on("data", onData);
  to.on("drain", onDrain);
  return () => {
    isStopped = true;
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
