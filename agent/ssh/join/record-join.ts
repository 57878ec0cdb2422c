import { errorText, type PlatformError } from "../../../core/errors/platform-error.ts";
import type { JoinConnection } from "./join-connection.ts";

/** Fields of every audit event of a join: the user who joined, and the session's owner. */
function joinFacts({ grant, mode, request, deps }: JoinConnection) {
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

/** Throws when it cannot be recorded. */
export async function recordJoin(facts: JoinConnection): Promise<void> {
  await facts.deps.audit.record({ event: "session.join", ...joinFacts(facts) });
}

/** Never throws. */
export async function recordLeave(facts: JoinConnection, reason: string | undefined): Promise<void> {
  const { audit, log } = facts.deps;
  try {
    await audit.record({ event: "session.leave", ...joinFacts(facts), ...(reason !== undefined && { reason: reason.slice(0, 2000) }) });
  } catch (thrown) {
    log.error("could not record session.leave", { session: facts.request.target, error: errorText(thrown) });
  }
}

/** Records that this host ended the connection. Never throws. */
export async function recordCut(facts: JoinConnection, why: PlatformError): Promise<void> {
  const { audit, log } = facts.deps;
  const { owner: _owner, mode: _mode, ...who } = joinFacts(facts);
  log.info("participant disconnected", { session: who.sid, user: who.user, error: why.message });
  try {
    await audit.record({ event: "client.disconnect", ...who, reason: why.message.slice(0, 2000) });
  } catch (thrown) {
    log.error("could not record the end of a connection", { error: errorText(thrown) });
  }
}
