import type { JoinGrant } from "../../../core/access/authorize.ts";
import type { JoinMode } from "../../../core/resources/session.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import type { SshDeps } from "../deps.ts";
import type { Admitted } from "../login/user-login.ts";

/** One authenticated connection of a user who joins a session. */
export interface JoinConnection extends Admitted<JoinGrant, object> {
  readonly mode: JoinMode;
  readonly request: StreamRequest<"join">;
  readonly deps: SshDeps;
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
    ...(request.clientAddress !== "" && { "addr.remote": request.clientAddress }),
  };
}
