import type { Connection } from "ssh2";
import { errorText, type PlatformError } from "../../core/errors/platform-error.ts";
import type { SessionChannel } from "./session-channel.ts";
import { sessionFacts } from "./session-facts.ts";
import type { UserConnection } from "./user-connection.ts";

export interface CutConnection {
  readonly connection: Connection;
  readonly facts: UserConnection;
  readonly open: ReadonlyMap<SessionChannel, AbortController>;
  readonly track: (work: Promise<void>) => void;
}

/** Ends a connection with a message in each of its sessions, hangs up their programs and records why. */
export function cutOff({ connection, facts, open, track }: CutConnection, why: PlatformError): void {
  track(recordEnd(facts, why));
  const hint = why.hint === undefined ? "" : ` (${why.hint})`;
  for (const [channel, closed] of open) {
    channel.stream?.stderr.write(`\r\nplatform: ${why.message}${hint}\r\n`);
    closed.abort(why);
  }
  connection.end();
}

/** Records that this host ended a connection. Never throws. */
export async function recordEnd(facts: UserConnection, why: Pick<Error, "message">): Promise<void> {
  const { audit, log } = facts.deps;
  log.info("ended a connection", { session: facts.request.sessionId, user: facts.grant.identity.name, error: why.message });
  try {
    await audit.record({ event: "client.disconnect", ...sessionFacts(facts, facts.request.sessionId), reason: why.message.slice(0, 2000) });
  } catch (thrown) {
    log.error("could not record the end of a connection", { error: errorText(thrown) });
  }
}
