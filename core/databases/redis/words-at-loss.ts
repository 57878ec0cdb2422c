import type { LostEnds, WordsAtLoss } from "../lost-ends.ts";
import { errorReply } from "./error-reply.ts";
import { ValueBoundaries } from "./value-boundaries.ts";

/**
 * As `wordsAtLoss`. An error that nobody awaits would be taken for the reply to a later command, so the words come only where a command has no reply yet. Where replies are
 * not one for each command (after SUBSCRIBE, MONITOR, CLIENT REPLY) that is known until then alone, and there are none.
 */
export function redisWordsAtLoss({ client, server }: LostEnds, why: string): WordsAtLoss {
  const [replies, commands] = [new ValueBoundaries(), new ValueBoundaries(true)];
  server.on("data", (chunk: Buffer) => replies.push(chunk));
  client.on("data", (chunk: Buffer) => commands.push(chunk));
  const words = errorReply({ code: "unavailable", message: why, hint: "connect again" });
  return () => (replies.atBoundary && commands.count > replies.count && !replies.isError ? words : undefined);
}
