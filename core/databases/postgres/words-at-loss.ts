import type { Readable } from "node:stream";
import { PlatformError } from "../../errors/platform-error.ts";
import { encodeFatal } from "./fatal.ts";
import { ServerBoundaries } from "./server-boundaries.ts";

/**
 * Follows a server's bytes on their way to its client. The function returns the words for a server that is lost, in the protocol; undefined: they would stand
 * within a message, or behind the server's own last words. Call this where the bytes are not read yet.
 */
export function wordsAtLoss(server: Readable, why: string): () => Buffer | undefined {
  const boundaries = new ServerBoundaries();
  server.on("data", (chunk: Buffer) => boundaries.push(chunk));
  const words = encodeFatal(new PlatformError("unavailable", why, { hint: "connect again" }));
  return () => (boundaries.mayAdd ? words : undefined);
}
