import type { Readable, Writable } from "node:stream";
import { pour } from "../../core/transport/pour.ts";

/** Resolves once all of the body is written; rejects when either end breaks. `pipeline` costs as much as the rest of a short request. */
export function copyBody(body: Readable, to: Writable, onPiece: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    if (to.destroyed) {
      reject(new Error("the client has left"));
      return;
    }
    let hasEnded = false;
    // Both close after a whole response, too: an error costs its stack.
    const broken = (): void => {
      if (!hasEnded) reject(new Error("the response ended early"));
    };
    const onEnd = (): void => {
      hasEnded = true;
      resolve();
    };
    to.once("close", pour(body.on("data", onPiece), to));
    body.once("end", onEnd).on("error", reject).once("close", broken).resume();
    to.once("close", broken).on("error", reject);
  });
}
