import type { ServerChannel } from "ssh2";
import type { JoinGrant } from "../../core/access/authorize.ts";
import { confirmedBy } from "../../core/audit/recorded-user.ts";
import { PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { JoinMode, SessionPod } from "../../core/resources/session.ts";
import { limitChannelBuffers } from "../../core/ssh/couple.ts";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import { pump } from "../service/pump.ts";
import { recordOrLog } from "../service/record-or-log.ts";
import type { ClientDeps } from "../ssh-server/client-deps.ts";
import type { Admitted } from "../ssh-server/serve-user.ts";
import { Seat } from "./seat.ts";
import { findTerminal, type SharedTerminal } from "./shared-terminal.ts";

/** One authenticated connection of a user who joins a session. */
export interface JoinConnection extends Admitted<JoinGrant, object> {
  readonly mode: JoinMode;
  readonly request: StreamRequest<"join">;
  readonly deps: ClientDeps;
}

/** Fields of every audit event of a join: the user who joined, and the session's owner. */
export function joinFacts({ grant, mode, request, deps }: JoinConnection) {
  const { node, session } = grant.ask;
  return {
    server_id: node.id,
    server_name: deps.node.name,
    user: grant.identity.name,
    login: session.login,
    sid: request.target,
    owner: session.user,
    mode,
    ...(session.pod && podFields(session.pod)),
    ...(request.clientAddress !== "" && { "addr.remote": request.clientAddress }),
  };
}

/** Fields of audit events of a session in a pod. */
function podFields({ cluster, namespace, name, container }: SessionPod) {
  return {
    kubernetes_cluster: cluster,
    kubernetes_pod_namespace: namespace,
    kubernetes_pod_name: name,
    ...(container !== "" && { kubernetes_container_name: container }),
  };
}

/** Exit status of ssh(1) and sshd(8) for their own errors. */
const faultStatus = 255;

export interface TakePart {
  /** The client has closed the channel or the connection. */
  readonly gone: AbortSignal;
  /** Called once it has joined. */
  readonly onSeat: (seat: Seat) => void;
}

/** Joins a session, from the audit event until either of them ends. Never throws. */
export async function takePart(stream: ServerChannel, facts: JoinConnection, { gone, onSeat }: TakePart): Promise<void> {
  const { grant, mode, deps, request } = facts;
  limitChannelBuffers(stream);
  // Writing to a channel that the client has closed fails: `gone` reports the same, and is what counts.
  stream.on("error", () => {});
  stream.stderr.on("error", () => {});
  const seat = new Seat({ user: grant.identity.name, mode, stream });
  let terminal: SharedTerminal | undefined;
  try {
    terminal = findTerminal(deps.live, request.target);
    if (terminal === undefined) throw new PlatformError("unavailable", "the session has just ended");
    terminal.requireRoom();
    // A join that cannot be recorded does not happen.
    await deps.audit.record({ event: "session.join", ...joinFacts(facts), ...confirmedBy(grant.identity) });
  } catch (thrown) {
    refuse(stream, toPlatformError(thrown));
    return;
  }
  try {
    if (gone.aborted) throw new PlatformError("unavailable", "the client disconnected before joining");
    const over = new AbortController();
    const left = new Promise((resolve) => over.signal.addEventListener("abort", resolve, { once: true }));
    terminal.take(seat, () => over.abort());
    onSeat(seat);
    gone.addEventListener("abort", () => seat.leave(), { once: true });
    // An observer's input is read and discarded, and so is a peer's from the end on.
    if (mode === "peer") void pump(stream, terminal.input, over.signal);
    else stream.resume();
    await left;
    await recordLeave(facts, seat.reason);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    refuse(stream, error);
    await recordLeave(facts, error.message);
  }
}

function refuse(stream: ServerChannel, { message }: PlatformError): void {
  stream.stderr.write(`platform: ${message}\r\n`);
  stream.exit(faultStatus);
  stream.resume();
  stream.end();
}

async function recordLeave(facts: JoinConnection, reason: string | undefined): Promise<void> {
  await recordOrLog(facts.deps, { event: "session.leave", ...joinFacts(facts), ...(reason !== undefined && { reason }) });
}
