import type { Connection, RejectConnection } from "ssh2";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { prohibited, refuseChannel } from "../../core/ssh/refuse-channel.ts";
import { recordOrLog } from "../service/record-or-log.ts";
import { sessionFacts } from "./session-facts.ts";
import type { UserConnection } from "./user-connection.ts";

export interface RefusedSession {
  readonly connection: Connection;
  readonly reject: RejectConnection;
  readonly facts: UserConnection;
  /** Maximum concurrent sessions. */
  readonly limit: number;
  readonly track: (work: Promise<void>) => void;
}

/** Maximum recorded refusals of one connection. */
const mostRecorded = 20;
const refused = new WeakMap<Connection, number>();

/** Refuses a session beyond the connection's limit, and records it. The connection continues. */
export function refuseSession({ connection, reject, facts, limit, track }: RefusedSession): void {
  const reason = `too many sessions on this connection (max_sessions: ${limit})`;
  refuseChannel(connection, reject, prohibited(new PlatformError("limit", reason)));
  const count = (refused.get(connection) ?? 0) + 1;
  refused.set(connection, count);
  if (count > mostRecorded) return;
  const event = { event: "session.rejected", ...sessionFacts(facts, facts.request.sessionId), reason, maximum: limit } as const;
  track(recordOrLog(facts.deps, event));
}
