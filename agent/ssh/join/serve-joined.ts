import type { Connection, ServerChannel, Session } from "ssh2";
import type { PlatformError } from "../../../core/errors/platform-error.ts";
import { guardRefusals } from "../../../core/ssh/guard-refusals.ts";
import { limitWindows } from "../../../core/ssh/limit-windows.ts";
import { holdToRules } from "../../service/hold-to-rules.ts";
import { watchActivity } from "../watch-activity.ts";
import type { JoinConnection } from "./join-connection.ts";
import { recordCut } from "./record-join.ts";
import type { Seat } from "./seat.ts";
import { takePart } from "./take-part.ts";

/** Time for the client to hang up after the end of the session, ms. */
const lingerMs = 5_000;

/** Serves the one session that such a connection may have, until it is closed. All other SSH requests are refused. */
export function serveJoined(connection: Connection, facts: JoinConnection, abort: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { deps, grant } = facts;
  const running = new Set<Promise<void>>();
  let current: AbortController | undefined;
  let seat: Seat | undefined;
  let linger: NodeJS.Timeout | undefined;
  const end = (): void => void connection.end();
  const cut = (why: PlatformError): void => {
    running.add(recordCut(facts, why));
    seat?.cut(why.hint === undefined ? why.message : `${why.message} (${why.hint})`);
    end();
  };
  const join = (stream: ServerChannel, gone: AbortSignal): void => {
    const onSeat = (taken: Seat): void => {
      seat = taken;
    };
    const work = takePart(stream, facts, { gone, onSeat }).finally(() => {
      linger = setTimeout(end, lingerMs);
    });
    running.add(work);
  };
  const stopLimits = boundClient(connection, facts, cut);
  connection.on("session", (accept, reject) => {
    if (abort.aborted || current !== undefined || running.size > 0) return reject();
    const gone = new AbortController();
    current = gone;
    const closed = (): void => {
      gone.abort();
      if (current === gone) current = undefined;
    };
    onRequests(accept(), (stream) => join(stream, gone.signal), closed);
  });
  const now = deps.now ?? (() => new Date());
  const release = holdToRules({ grant, access: deps.access, now, onActivity: watchActivity(connection, () => true), end: cut });
  connection.once("close", () => {
    release();
    current?.abort();
    stopLimits();
    void Promise.allSettled(running).then(() => {
      clearTimeout(linger);
      resolve();
    });
  });
  return promise;
}

/** Sets the limits on resources that a client can use, and the rules that end it. Returns the function that releases them. */
function boundClient(connection: Connection, { deps, grant, lease }: JoinConnection, cut: (why: PlatformError) => void): () => void {
  const shared = deps.limits.ofConnection(grant.identity.name);
  limitWindows(connection, shared.windows);
  guardRefusals(connection, cut);
  lease?.onLost(cut);
  return () => shared.end();
}

/** A terminal may be requested, without effect: the size is the owner's. ssh2 refuses requests that are not listed here. */
function onRequests(session: Session, join: (stream: ServerChannel) => void, closed: () => void): void {
  session.on("pty", (accept) => accept?.());
  session.on("window-change", (accept) => accept?.());
  session.once("shell", (accept) => join(accept()));
  session.once("close", closed);
}
