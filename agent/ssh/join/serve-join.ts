import type { Duplex } from "node:stream";
import type { Connection, ServerChannel, Session } from "ssh2";
import type { JoinGrant } from "../../../core/access/authorize.ts";
import { authorizeJoin, joinRefusal } from "../../../core/access/authorize-join.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type JoinMode, joinLogin, joinModes } from "../../../core/resources/session.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import type { StreamLife } from "../../service/service.ts";
import { certifiedUser } from "../admit.ts";
import { holdClient } from "../hold-client.ts";
import { type Admission, serveUser } from "../serve-user.ts";
import type { SshDeps } from "../user-connection.ts";
import type { Seat } from "./seat.ts";
import { findTerminal } from "./shared-terminal.ts";
import { type JoinConnection, joinFacts, takePart } from "./take-part.ts";

/** Serves one `join` stream: a user who joins a running session. Throws only before the reply. */
export async function serveJoin(stream: Duplex, request: StreamRequest<"join">, deps: SshDeps, life: StreamLife): Promise<void> {
  const mode = joinModes.find((one) => one === request.parameters.mode);
  if (mode === undefined) throw new PlatformError("invalid", "unknown join mode; use observer or peer");
  const access = await deps.access.at(request.accessRevision);
  await serveUser({
    stream,
    request,
    deps,
    access,
    life,
    sid: request.target,
    admission: admitJoin(request, mode, deps),
    serve: (connection, admitted) => serveJoined(connection, { ...admitted, mode, request, deps }, life.signal),
  });
}

/** Admission of a user who joins a running session. It involves no login of the host. */
function admitJoin(request: StreamRequest<"join">, mode: JoinMode, deps: SshDeps): Admission<JoinGrant, object> {
  const clientIp = ipOf(request.clientAddress);
  return {
    judge: ({ username, certificate }, access) => {
      if (username !== joinLogin) throw new PlatformError("denied", `access denied: to join a session, log in as "${joinLogin}"`);
      const { hostId, cluster } = deps.credentials();
      const now = (deps.now ?? (() => new Date()))();
      const identity = certifiedUser({ certificate, clientIp, access, node: { id: hostId, ...deps.node }, cluster, now });
      const { roles, locks } = access;
      const session = findTerminal(deps.live, request.target)?.facts;
      return authorizeJoin({ identity, roles, locks, clientIp, now, sid: request.target, mode, session });
    },
    prepare: async () => ({}),
    release: async () => {},
    reasonOf: joinRefusal,
  };
}

/** Time for the client to hang up after the end of the session, ms. */
const lingerMs = 5_000;

/** Serves the one session that such a connection may have, until it is closed. All other SSH requests are refused. */
async function serveJoined(connection: Connection, facts: JoinConnection, abort: AbortSignal): Promise<void> {
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
