import type { UserConnection } from "./user-connection.ts";

/** Fields of every audit event of a session. */
export function sessionFacts({ grant, request, deps }: Pick<UserConnection, "grant" | "request" | "deps">, sid: string) {
  return {
    server_id: grant.ask.node.id,
    server_name: deps.node.name,
    user: grant.identity.name,
    login: grant.ask.login,
    sid,
    ...(request.clientAddress !== "" && { "addr.remote": request.clientAddress }),
  };
}
