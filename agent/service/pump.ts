import type { Readable, Writable } from "node:stream";
import { limitPieces } from "../../core/bytes/limit-pieces.ts";

/**
 * Copies until the source ends, breaks or closes, at the pace of the destination; then resolves. Neither side is ended.
 * Once `gone` is aborted the rest is read and thrown away, so that no sender hangs on a peer that has left.
 */
export function pump(source: Readable, destination: Writable, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const onDrain = (): void => {
      source.resume();
    };
    const write = limitPieces(destination, onDrain);
    const onData = (chunk: Buffer): void => {
      if (gone.aborted || destination.destroyed || destination.writableEnded) return;
      if (!write(chunk)) source.pause();
    };
    const finish = (): void => {
      source.off("data", onData).off("end", finish).off("close", finish).off("error", finish);
      destination.off("drain", onDrain).off("close", onDrain).off("error", onDrain);
      gone.removeEventListener("abort", onDrain);
      // A late error of a finished stream has no other listener.
      source.on("error", () => {});
      resolve();
    };
    source.on("data", onData).on("end", finish).on("close", finish).on("error", finish);
    destination.on("drain", onDrain).on("close", onDrain).on("error", onDrain);
    gone.addEventListener("abort", onDrain, { once: true });
    if (source.destroyed || source.readableEnded) finish();
  });
}
