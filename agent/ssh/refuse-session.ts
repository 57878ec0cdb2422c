import type { Connection, RejectConnection } from "ssh2";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { refuseChannel } from "../../core/ssh/refuse-channel.ts";
import { sessionFacts } from "./session-facts.ts";
import type { UserConnection } from "./user-connection.ts";

export interface RefusedSession {
  readonly connection: Connection;
  readonly reject: RejectConnection;
  readonly facts: UserConnection;
  /** Sessions at a time. */
  readonly limit: number;
  readonly track: (work: Promise<void>) => void;
}

/** Refusals of one connection that are recorded. */
const mostRecorded = 20;
const refused = new WeakMap<Connection, number>();

/** Refuses one session more than a connection may have, and records it. The connection lives on. */
export function refuseSession({ connection, reject, facts, limit, track }: RefusedSession): void {
  const { audit, log } = facts.deps;
  const reason = `this connection has ${limit} sessions, and may not have more (max_sessions)`;
  refuseChannel(connection, reject, new PlatformError("limit", reason));
  const count = (refused.get(connection) ?? 0) + 1;
  refused.set(connection, count);
  if (count > mostRecorded) return;
  const event = { event: "session.rejected", ...sessionFacts(facts, facts.request.sessionId), reason, maximum: limit } as const;
  track(audit.record(event).catch((thrown: unknown) => log.error("a refused session could not be recorded", { error: errorText(thrown) })));
}
