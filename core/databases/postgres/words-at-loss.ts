import type { Readable } from "node:stream";
import { PlatformError } from "../../errors/platform-error.ts";
import { encodeFatal } from "./fatal.ts";
import { ServerBoundaries } from "./server-boundaries.ts";

/** Terminate, the last message of a client: `X | u32 4`. */
const goodbye = Buffer.of(0x58, 0, 0, 0, 4);

/**
 * Follows a server's bytes on their way to its client. The function returns the words for a server that is lost, in the protocol; undefined: they would stand
 * within a message, or behind the server's own last words, or the client has said goodbye, so that the server has closed (`latest`: the client's last bytes).
 * Call this where the bytes are not read yet.
 */
export function wordsAtLoss(server: Readable, why: string): (latest: Buffer) => Buffer | undefined {
  const boundaries = new ServerBoundaries();
  server.on("data", (chunk: Buffer) => boundaries.push(chunk));
  const words = encodeFatal(new PlatformError("unavailable", why, { hint: "connect again" }));
  return (latest) => (boundaries.mayAdd && !latest.subarray(-goodbye.length).equals(goodbye) ? words : undefined);
}
