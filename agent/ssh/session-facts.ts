import type { UserConnection } from "./serve-connection.ts";

/** What every audit event of a session says of it. */
export function sessionFacts({ user, grant, request, deps }: UserConnection, sid: string) {
  return {
    server_id: grant.ask.node.id,
    server_name: deps.node.name,
    user: grant.identity.name,
    login: user.login,
    sid,
    ...(request.clientAddress !== "" && { "addr.remote": request.clientAddress }),
  };
}
