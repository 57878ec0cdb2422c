import { randomUUID } from "node:crypto";
import type { AcceptConnection, Connection, RejectConnection, Session } from "ssh2";
import type { PlatformError } from "../../core/errors/platform-error.ts";
import { sessionIdOf } from "../../core/resources/session-id.ts";
import { countBytes } from "../../core/ssh/count-bytes.ts";
import { guardRefusals } from "../../core/ssh/guard-refusals.ts";
import { limitWindows } from "../../core/ssh/limit-windows.ts";
import { channelNumbers } from "../../core/ssh/ssh2/hooks.ts";
import { holdToRules } from "../service/hold-to-rules.ts";
import { type CutConnection, cutOff, recordEnd } from "./cut-off.ts";
import { serveForwarding } from "./forwarding/serve-forwarding.ts";
import type { UserLimits } from "./login/user-limits.ts";
import { refuseSession } from "./refuse-session.ts";
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
import type { UserConnection } from "./user-connection.ts";
import { watchActivity } from "./watch-activity.ts";

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

/** Limits on what a client can make this host hold and record, and the rules that end it. */
function boundClient({ connection, facts, track }: CutConnection, cut: (why: PlatformError) => void): ReturnType<UserLimits["ofConnection"]> {
  const shared = facts.deps.limits.ofConnection(facts.grant.identity.name);
  limitWindows(connection, shared.windows);
  guardRefusals(connection, cut);
  facts.lease?.onLost(cut);
  // The client broke the protocol: its stream is already closed.
  connection.on("error", (error: Error & { readonly level?: string }) => {
    if (error.level !== "client-socket" && error.level !== "client-timeout") track(recordEnd(facts, error));
  });
  return shared;
}

/** Serves sessions and forwarding until the connection is closed and every program has ended. */
export function serveConnection(connection: Connection, facts: UserConnection, abort: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { deps, grant, request } = facts;
  const open = new Map<SessionChannel, AbortController>();
  const running = new Set<Promise<void>>();
  let accepted = 0;
  const connectionId = request.sessionId || randomUUID();
  const track = (work: Promise<void>): void => {
    running.add(work);
    void work.finally(() => running.delete(work));
  };
  let isCut = false;
  const cut = (why: PlatformError): void => {
    if (!isCut) cutOff({ connection, facts, open, track }, why);
    isCut = true;
  };
  const limit = Math.min(maxSessions, grant.rules.maxSessions ?? maxSessions);
  const shared = boundClient({ connection, facts, open, track }, cut);
  const forwarding = serveForwarding(connection, facts, shared.forwards);
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
  const isTerminal = (number: number): boolean => [...open.keys()].some((channel) => channel.number === number && channel.wanted !== undefined);
  const now = deps.now ?? (() => new Date());
  const release = holdToRules({ grant, access: deps.access, now, onActivity: watchActivity(connection, isTerminal), end: cut });
  connection.once("close", () => {
    release();
    for (const closed of open.values()) closed.abort();
    void Promise.allSettled([...running, forwarding.end()]).then(() => resolve());
    shared.end();
  });
  return promise;
}
