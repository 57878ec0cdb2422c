import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";

/** Pieces on their way to a stream from which on the other one waits: Node keeps some 0.6 KiB for each, and limits in bytes allow 65,536 of one byte, or more. */
const mostPieces = 1_024;

/**
 * Writes what `from` gives to `to`, at the pace of `to`, in bytes and in pieces: what comes meanwhile is put together by `from` (core/bytes/gather-pieces.ts).
 * It does not resume a paused `from` at first, and passes neither ends nor errors on. Returns the function that undoes it.
 */
export function pour(from: Readable, to: Writable): () => void {
  const write = writeInOnePiece(to);
  /** Since `to` had taken everything. */
  let pieces = 0;
  const onDrain = (): void => {
    from.resume();
  };
  const onData = (chunk: Buffer): void => {
    pieces = to.writableLength === 0 ? 1 : pieces + 1;
    const isMany = pieces >= mostPieces;
    if (!write(chunk, isMany ? onDrain : undefined) || isMany) from.pause();
  };
  from.on("data", onData);
  to.on("drain", onDrain);
  return () => {
    from.off("data", onData);
    to.off("drain", onDrain);
  };
}

/** Data of one tick leaves a socket in one system call: a tunnel's read holds several packets of a channel. */
function writeInOnePiece(to: Writable): (chunk: Buffer, written?: () => void) => boolean {
  if (!(to instanceof Socket)) return (chunk, written) => to.write(chunk, written);
  let corked = false;
  const uncork = (): void => {
    corked = false;
    to.uncork();
  };
  return (chunk, written) => {
    if (!corked) {
      corked = true;
      to.cork();
      process.nextTick(uncork);
    }
    return to.write(chunk, written);
  };
}
