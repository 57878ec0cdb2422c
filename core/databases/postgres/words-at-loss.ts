import { PlatformError } from "../../errors/platform-error.ts";
import type { LostEnds, WordsAtLoss } from "../lost-ends.ts";
import { encodeFatal } from "./fatal.ts";
import { ServerBoundaries } from "./server-boundaries.ts";

/** Terminate, the last message of a client: `X | u32 4`. */
const goodbye = Buffer.of(0x58, 0, 0, 0, 4);

/** As `wordsAtLoss`: none where the client has said goodbye, so that the server has closed. */
export function postgresWordsAtLoss({ server }: LostEnds, why: string): WordsAtLoss {
  const boundaries = new ServerBoundaries();
  server.on("data", (chunk: Buffer) => boundaries.push(chunk));
  const words = encodeFatal(new PlatformError("unavailable", why, { hint: "connect again" }));
  return (latest) => (boundaries.mayAdd && !latest.subarray(-goodbye.length).equals(goodbye) ? words : undefined);
}
