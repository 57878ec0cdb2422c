import type { MysqlError } from "../../../core/databases/mysql/error-packet.ts";
import { isGiven, killTarget } from "../../../core/databases/mysql/kill-target.ts";

/** What a session knows about numbers of connections. */
export interface ThreadFacts {
  /** The server's number of a connection that was greeted with this one. */
  readonly threadOf: (own: number) => number | undefined;
  /** Whether the server numbers its connections as agents do (TiDB). */
  readonly givesHigh: boolean;
}

/** The server's number of the connection that a client calls `own`, which may be the same; or why there is none. */
export function knownThread(own: number, { threadOf, givesHigh }: ThreadFacts): number | MysqlError {
  const thread = threadOf(own);
  if (thread === undefined && isGiven(own) && !givesHigh) return unknownThread(own);
  return thread ?? own;
}

/** The statement with the server's number of the connection that it kills, or why it does not go on; undefined: it goes on as it is. */
export function killIn(statement: Buffer, facts: ThreadFacts): Buffer | MysqlError | undefined {
  const target = killTarget(statement);
  if (target === undefined) return undefined;
  const thread = knownThread(target.own, facts);
  if (typeof thread === "object") return thread;
  return thread === target.own ? undefined : target.at(thread);
}

/** The server does not know such numbers, and has none of its own that are as high. */
function unknownThread(own: number): MysqlError {
  const ended = "that connection has ended, or went through another agent, or through this one before it was restarted";
  // A proxy that is asked too often does not ask the agents.
  return { code: 1094, state: "HY000", message: `Unknown thread id: ${own}: ${ended}, or too many were asked for at once; try again` };
}
