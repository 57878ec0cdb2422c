import type { LostEnds, WordsAtLoss } from "./lost-ends.ts";
import { mysqlWordsAtLoss } from "./mysql/words-at-loss.ts";
import { postgresWordsAtLoss } from "./postgres/words-at-loss.ts";
import { redisWordsAtLoss } from "./redis/words-at-loss.ts";

const byProtocol: Readonly<Record<string, (ends: LostEnds, why: string) => WordsAtLoss>> = {
  postgres: postgresWordsAtLoss,
  mysql: mysqlWordsAtLoss,
  redis: redisWordsAtLoss,
};

/**
 * Follows the bytes of both ends on their way. The function returns the words for a server that is lost, in the protocol; undefined: they would stand within a message,
 * or behind the server's own last words, or nobody awaits them. Call this where the bytes are not read yet. Drivers of MongoDB get no words: they repeat what they may
 * repeat when the connection breaks, and not after an error.
 */
export function wordsAtLoss(protocol: string, ends: LostEnds, why: string): WordsAtLoss | undefined {
  return byProtocol[protocol]?.(ends, why);
}
