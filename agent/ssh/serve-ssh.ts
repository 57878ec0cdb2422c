import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import type { AcceptConnection, Connection, RejectConnection, Session } from "ssh2";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { sessionIdOf } from "../../core/resources/session.ts";
import { prohibited, refuseChannel } from "../../core/ssh/refusals.ts";
import { channelNumbers } from "../../core/ssh/ssh2/hooks.ts";
import { countBytes } from "../../core/ssh/watch-traffic.ts";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import { recordOrLog } from "../service/record-or-log.ts";
import type { StreamLife } from "../service/service.ts";
import { holdClient } from "../ssh-server/hold-client.ts";
import { serveUser } from "../ssh-server/serve-user.ts";
import { admitLogin } from "./admit.ts";
import { serveForwarding } from "./forwarding/serve-forwarding.ts";
import type { SessionChannel } from "./session-channel.ts";
import { answerRequests } from "./session-requests.ts";
import { type SshDeps, sessionFacts, type UserConnection } from "./user-connection.ts";

/** Serves one `ssh` stream: the user's SSH connection ends here. Resolves when it has ended; throws only before the reply. */
export async function serveSsh(stream: Duplex, request: StreamRequest<"ssh">, deps: SshDeps, life: StreamLife): Promise<void> {
  const access = await deps.access.at(request.accessRevision);
  const { sessionRecording } = access;
  await serveUser({
    stream,
    request,
    deps,
    access,
    life,
    admission: admitLogin(request, deps),
    serve: (connection, admitted) => serveConnection(connection, { ...admitted, request, sessionRecording, deps }, life.signal),
  });
}

/** Maximum concurrent sessions of one connection: an editor opens many. */
const maxSessions = 512;

/** Serves sessions and forwarding until the connection is closed and every program has ended. */
async function serveConnection(connection: Connection, facts: UserConnection, abort: AbortSignal): Promise<void> {
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
    answerRequests(session, channel);
    session.once("close", () => {
      open.delete(channel);
      closed.abort();
    });
  });
  await client.ended;
}

/** Shows each session why this host ends the connection, and hangs up its program. */
function hangUp(open: ReadonlyMap<SessionChannel, AbortController>, why: PlatformError): void {
  const hint = why.hint === undefined ? "" : ` (${why.hint})`;
  for (const [channel, closed] of open) {
    channel.stream?.stderr.write(`\r\nplatform: ${why.message}${hint}\r\n`);
    closed.abort(why);
  }
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
