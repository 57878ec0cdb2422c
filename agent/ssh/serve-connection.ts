import { randomUUID } from "node:crypto";
import type { AcceptConnection, Connection, RejectConnection, Session } from "ssh2";
import type { SshGrant } from "../../core/access/authorize.ts";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import type { SshDeps } from "./deps.ts";
import { env } from "./requests/env.ts";
import { exec } from "./requests/exec.ts";
import { pty } from "./requests/pty.ts";
import { shell } from "./requests/shell.ts";
import { signal } from "./requests/signal.ts";
import { windowChange } from "./requests/window-change.ts";
import type { RequestReply, SessionChannel } from "./session-channel.ts";
import type { UnixUser } from "./unix-user.ts";

/** One authenticated SSH connection of a user. */
export interface UserConnection {
  readonly grant: SshGrant;
  readonly user: UnixUser;
  /** The certificate's `permit-pty`. */
  readonly permitsPty: boolean;
  readonly request: StreamRequest;
  readonly deps: SshDeps;
}

/** Sessions at a time on one connection. */
const maxSessions = 64;

/** Channel requests by ssh2's names; what is not here (subsystem, x11, agent forwarding) ssh2 refuses. */
function onRequests(session: Session, channel: SessionChannel): void {
  type Answer = RequestReply["accept"];
  const bound =
    <Info>(handle: (channel: SessionChannel, reply: RequestReply, info: Info) => void) =>
    (accept: Answer, reject: Answer, info: Info): void =>
      handle(channel, { accept, reject }, info);
  session.on("env", bound(env));
  session.on("exec", bound(exec));
  session.on("pty", bound(pty));
  session.on("shell", bound(shell));
  session.on("signal", bound(signal));
  session.on("window-change", bound(windowChange));
}

/** Serves sessions until the connection is closed and every program has ended. Forwarding is refused: nobody listens for it. */
export function serveConnection(connection: Connection, facts: UserConnection, abort: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const open = new Set<AbortController>();
  const running = new Set<Promise<void>>();
  let isFirst = true;
  const track = (work: Promise<void>): void => {
    running.add(work);
    void work.finally(() => running.delete(work));
  };
  const end = (): void => void connection.end();
  connection.on("session", (accept: AcceptConnection<Session>, reject: RejectConnection) => {
    if (open.size >= maxSessions || abort.aborted) return reject();
    const closed = new AbortController();
    open.add(closed);
    const sid = isFirst && facts.request.sessionId !== "" ? facts.request.sessionId : randomUUID();
    isFirst = false;
    const session = accept();
    onRequests(session, { facts, sid, variables: new Map(), gone: closed.signal, track });
    session.once("close", () => {
      open.delete(closed);
      closed.abort();
    });
  });
  abort.addEventListener("abort", end, { once: true });
  connection.once("close", () => {
    abort.removeEventListener("abort", end);
    for (const closed of open) closed.abort();
    void Promise.allSettled([...running]).then(() => resolve());
  });
  if (abort.aborted) end();
  return promise;
}
