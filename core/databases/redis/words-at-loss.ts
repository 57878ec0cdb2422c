import type { LostEnds, WordsAtLoss } from "../lost-ends.ts";
import { errorReply } from "./error-reply.ts";
import { ValueBoundaries } from "./value-boundaries.ts";

/**
 * As `wordsAtLoss`. An error that nobody awaits would be taken for the reply to a later command, so the words come only where a command has no reply yet. After a
 * command from which on replies cannot be counted (SUBSCRIBE, MONITOR, CLIENT REPLY; SHUTDOWN, which has none) there are no words.
 */
export function redisWordsAtLoss({ client, server }: LostEnds, why: string): WordsAtLoss {
  const [replies, commands] = [new ValueBoundaries(), new ValueBoundaries(true)];
  server.on("data", (chunk: Buffer) => replies.push(chunk));
  client.on("data", (chunk: Buffer) => commands.push(chunk));
  const words = errorReply({ code: "unavailable", message: why, hint: "connect again" });
  return () => (replies.atBoundary && commands.isCounted && commands.count > replies.count && !replies.isError ? words : undefined);
}
