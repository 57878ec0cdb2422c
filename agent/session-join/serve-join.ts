import type { Duplex } from "node:stream";
import type { Connection, ServerChannel, Session } from "ssh2";
import type { JoinGrant } from "../../core/access/authorize.ts";
import { authorizeJoin, joinableModes, joinRefusal } from "../../core/access/authorize-join.ts";
import { PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import { type JoinMode, joinLogin, joinModes } from "../../core/resources/session.ts";
import { ipOf } from "../../core/transport/host-port.ts";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import { type Access, requireReadableRoles } from "../access/access-source.ts";
import type { StreamLife } from "../service/service.ts";
import { certifiedUser } from "../ssh-server/certified-user.ts";
import type { ClientDeps } from "../ssh-server/client-deps.ts";
import { holdClient } from "../ssh-server/hold-client.ts";
import { type Admission, serveUser } from "../ssh-server/serve-user.ts";
import type { Seat } from "./seat.ts";
import { findTerminal } from "./shared-terminal.ts";
import { type JoinConnection, joinFacts, takePart } from "./take-part.ts";

/** Serves one `join` stream: a user who joins a running session. Throws only before the reply. */
export async function serveJoin(stream: Duplex, request: StreamRequest<"join">, deps: ClientDeps, life: StreamLife): Promise<void> {
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
function admitJoin(request: StreamRequest<"join">, mode: JoinMode, deps: ClientDeps): Admission<JoinGrant, object> {
  const clientIp = ipOf(request.clientAddress);
  return {
    judge: ({ username, certificate }, access) => {
      if (username !== joinLogin) throw new PlatformError("denied", `access denied: to join a session, log in as "${joinLogin}"`);
      const { cluster } = deps.credentials();
      const now = (deps.now ?? (() => new Date()))();
      const identity = certifiedUser({ certificate, clientIp, access, hostname: deps.node.name, cluster, now });
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
  const over = new AbortController();
  facts.deps.access.follow((access) => {
    const refusal = refusedBy(access, facts);
    if (refusal !== undefined) client.cut(refusal);
  }, over.signal);
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
  over.abort();
  clearTimeout(linger);
}

/** Why the roles of now do not let this user take part; undefined if they do. */
function refusedBy(access: Access, { grant, deps }: JoinConnection): PlatformError | undefined {
  const { identity, ask } = grant;
  const { node, session } = ask;
  try {
    requireReadableRoles(identity, access, deps.node.name);
  } catch (thrown) {
    return toPlatformError(thrown);
  }
  if (joinableModes(identity, access.roles, { server_id: node.id, server_name: node.name, ...session }).includes(session.mode)) return undefined;
  return new PlatformError("denied", `access denied: your roles do not let you take part as ${session.mode} any more`);
}

/** A terminal may be requested, without effect: the size is the owner's. ssh2 refuses requests that are not listed here. */
function onRequests(session: Session, join: (stream: ServerChannel) => void, closed: () => void): void {
  session.on("pty", (accept) => accept?.());
  session.on("window-change", (accept) => accept?.());
  session.once("shell", (accept) => join(accept()));
  session.once("close", closed);
}
