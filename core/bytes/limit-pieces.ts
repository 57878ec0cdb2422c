import type { Writable } from "node:stream";

/** Pieces on their way to a stream from which on it has no room: Node keeps some 0.6 KiB for each, and limits in bytes allow 65,536 of one byte, or more. */
const mostPieces = 1_024;

/**
 * A function that writes to a stream of bytes. It returns false where `write` does, and also when many pieces wait, however small: once they are taken,
 * `drained` is called, unless the stream is destroyed before: see to its `close`. There may be a `drain` besides.
 */
export function limitPieces(to: Writable, drained: () => void): (piece: Buffer) => boolean {
  /** Since all was taken. */
  let pieces = 0;
  return (piece) => {
    pieces = to.writableLength === 0 ? 1 : pieces + 1;
    const isMany = pieces >= mostPieces;
    return to.write(piece, isMany ? drained : undefined) && !isMany;
  };
}
