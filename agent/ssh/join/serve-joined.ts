import type { Connection, ServerChannel, Session } from "ssh2";
import { holdClient } from "../hold-client.ts";
import { type JoinConnection, joinFacts } from "./join-connection.ts";
import type { Seat } from "./seat.ts";
import { takePart } from "./take-part.ts";

/** Time for the client to hang up after the end of the session, ms. */
const lingerMs = 5_000;

/** Serves the one session that such a connection may have, until it is closed. All other SSH requests are refused. */
export async function serveJoined(connection: Connection, facts: JoinConnection, abort: AbortSignal): Promise<void> {
  let current: AbortController | undefined;
  let hasJoined = false;
  let seat: Seat | undefined;
  let linger: NodeJS.Timeout | undefined;
  const { owner: _owner, mode: _mode, ...who } = joinFacts(facts);
  const client = holdClient({
    connection,
    grant: facts.grant,
    lease: facts.lease,
    deps: facts.deps,
    who,
    isTerminal: () => true,
    onCut: ({ message, hint }) => seat?.cut(hint === undefined ? message : `${message} (${hint})`),
    onClose: () => current?.abort(),
  });
  const join = (stream: ServerChannel, gone: AbortSignal): void => {
    hasJoined = true;
    const onSeat = (taken: Seat): void => {
      seat = taken;
    };
    const work = takePart(stream, facts, { gone, onSeat }).finally(() => {
      linger = setTimeout(() => connection.end(), lingerMs);
    });
    client.track(work);
  };
  connection.on("session", (accept, reject) => {
    if (abort.aborted || current !== undefined || hasJoined) return reject();
    const gone = new AbortController();
    current = gone;
    const closed = (): void => {
      gone.abort();
      if (current === gone) current = undefined;
    };
    onRequests(accept(), (stream) => join(stream, gone.signal), closed);
  });
  await client.ended;
  clearTimeout(linger);
}

/** A terminal may be requested, without effect: the size is the owner's. ssh2 refuses requests that are not listed here. */
function onRequests(session: Session, join: (stream: ServerChannel) => void, closed: () => void): void {
  session.on("pty", (accept) => accept?.());
  session.on("window-change", (accept) => accept?.());
  session.once("shell", (accept) => join(accept()));
  session.once("close", closed);
}
