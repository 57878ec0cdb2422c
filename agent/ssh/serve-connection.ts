import { randomUUID } from "node:crypto";
import type { AcceptConnection, Connection, RejectConnection, Session } from "ssh2";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { sessionIdOf } from "../../core/resources/session-id.ts";
import { countBytes } from "../../core/ssh/count-bytes.ts";
import { prohibited, refuseChannel } from "../../core/ssh/refuse-channel.ts";
import { channelNumbers } from "../../core/ssh/ssh2/hooks.ts";
import { recordOrLog } from "../service/record-or-log.ts";
import { serveForwarding } from "./forwarding/serve-forwarding.ts";
import { holdClient } from "./hold-client.ts";
import { authAgent } from "./requests/auth-agent.ts";
import { env } from "./requests/env.ts";
import { exec } from "./requests/exec.ts";
import { pty } from "./requests/pty.ts";
import { shell } from "./requests/shell.ts";
import { signal } from "./requests/signal.ts";
import { subsystem } from "./requests/subsystem.ts";
import { windowChange } from "./requests/window-change.ts";
import { x11 } from "./requests/x11.ts";
import type { RequestReply, SessionChannel } from "./session-channel.ts";
import { sessionFacts } from "./session-facts.ts";
import type { UserConnection } from "./user-connection.ts";

/** Maximum concurrent sessions of one connection: an editor opens many. */
const maxSessions = 512;

/** Channel requests by ssh2's names; ssh2 refuses all others. */
function onRequests(session: Session, channel: SessionChannel): void {
  type Answer = RequestReply["accept"];
  const bound =
    <Info>(handle: (channel: SessionChannel, reply: RequestReply, info: Info) => void) =>
    (accept: Answer, reject: Answer, info: Info): void =>
      handle(channel, { accept, reject }, info);
  session.on("auth-agent", (accept, reject) => authAgent(channel, { accept, reject }));
  session.on("env", bound(env));
  session.on("exec", bound(exec));
  session.on("pty", bound(pty));
  session.on("shell", bound(shell));
  session.on("signal", bound(signal));
  session.on("subsystem", bound(subsystem));
  session.on("window-change", bound(windowChange));
  session.on("x11", bound(x11));
}

/** Shows each session why this host ends the connection, and hangs up its program. */
function hangUp(open: ReadonlyMap<SessionChannel, AbortController>, why: PlatformError): void {
  const hint = why.hint === undefined ? "" : ` (${why.hint})`;
  for (const [channel, closed] of open) {
    channel.stream?.stderr.write(`\r\nplatform: ${why.message}${hint}\r\n`);
    closed.abort(why);
  }
}

/** Serves sessions and forwarding until the connection is closed and every program has ended. */
export async function serveConnection(connection: Connection, facts: UserConnection, abort: AbortSignal): Promise<void> {
  const { deps, grant, lease, request } = facts;
  const open = new Map<SessionChannel, AbortController>();
  let accepted = 0;
  const connectionId = request.sessionId || randomUUID();
  const client = holdClient({
    connection,
    grant,
    lease,
    deps,
    who: sessionFacts(facts, request.sessionId),
    isTerminal: (number) => [...open.keys()].some((channel) => channel.number === number && channel.wanted !== undefined),
    onCut: (why) => hangUp(open, why),
    onClose: () => {
      for (const closed of open.values()) closed.abort();
      track(forwarding.end());
    },
  });
  const { track } = client;
  const limit = Math.min(maxSessions, grant.rules.maxSessions ?? maxSessions);
  const forwarding = serveForwarding(connection, facts, client.forwards);
  const countsOf = countBytes(connection);
  connection.on("session", (accept: AcceptConnection<Session>, reject: RejectConnection) => {
    if (abort.aborted) return reject();
    if (open.size >= limit) return refuseSession({ connection, reject, facts, limit, track });
    const closed = new AbortController();
    const sid = sessionIdOf(connectionId, accepted);
    accepted += 1;
    const session = accept();
    const { agent, x11: displays, settled: forwardsSettled } = forwarding;
    const common = { facts, sid, variables: new Map(), number: channelNumbers(session).peers, bytes: countsOf(session), gone: closed.signal };
    const channel: SessionChannel = { ...common, agent, x11: displays, forwardsSettled, track };
    open.set(channel, closed);
    onRequests(session, channel);
    session.once("close", () => {
      open.delete(channel);
      closed.abort();
    });
  });
  await client.ended;
}

interface RefusedSession {
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
function refuseSession({ connection, reject, facts, limit, track }: RefusedSession): void {
  const reason = `too many sessions on this connection (max_sessions: ${limit})`;
  refuseChannel(connection, reject, prohibited(new PlatformError("limit", reason)));
  const count = (refused.get(connection) ?? 0) + 1;
  refused.set(connection, count);
  if (count > mostRecorded) return;
  const event = { event: "session.rejected", ...sessionFacts(facts, facts.request.sessionId), reason, maximum: limit } as const;
  track(recordOrLog(facts.deps, event));
}
