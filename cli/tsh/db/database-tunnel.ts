import { toPlatformError } from "../../../core/errors/platform-error.ts";
import { relay } from "../../../core/transport/relay.ts";
import type { Call } from "../../command.ts";
import { writeError } from "../../output.ts";
import type { Profile } from "../../profile/profile.ts";
import { usableResources } from "../served/list-served.ts";
import { type LocalPort, openLocalPort } from "../served/local-port.ts";
import { isCancelRequest, readStart } from "./cancel-request.ts";
import { findDatabase } from "./find-database.ts";
import { refuseLocalClient } from "./refuse-local-client.ts";
import { type AgentsAsk, TunnelAgents } from "./tunnel-agents.ts";

export interface UsableDatabase {
  readonly name: string;
  readonly protocol: string;
  /** The user's account there, if agents make it. */
  readonly account?: string;
}

/** The database of this name, or the only one whose name begins so. With a certificate for one resource its protocol is not known. Throws `not_found`, `invalid`. */
export async function usableDatabase({ io }: Pick<Call, "io">, profile: Profile, given: string): Promise<UsableDatabase> {
  // The auth service answers no question to such a certificate; the proxy and the agent decide.
  if (profile.facts.route !== undefined) return { name: given, protocol: "" };
  const { name, details, account } = findDatabase(await usableResources(io, profile, "db"), given);
  return { name, protocol: details.protocol ?? "", ...(account !== undefined && { account }) };
}

export interface TunnelAsk extends AgentsAsk {
  readonly database: UsableDatabase;
  /** 0: any free one. */
  readonly port: number;
}

/**
 * A local port whose connections go to a database, all to the same agent while that can be reached. A failure on the way is printed, and the client gets
 * it in the words of its protocol. Throws `unavailable`.
 */
export async function openDatabaseTunnel(call: Call, ask: TunnelAsk): Promise<LocalPort> {
  const { database, port } = ask;
  const agents = new TunnelAgents(call, ask);
  const local = await openLocalPort(call.io, port, async (socket, signal) => {
    const start = database.protocol === "postgres" ? await readStart(socket) : Buffer.alloc(0);
    if (isCancelRequest(start)) {
      await agents.cancel(start);
      socket.end();
      return;
    }
    const opened = await agents.open(start).catch(async (thrown: unknown) => {
      writeError(call.io, toPlatformError(thrown));
      await refuseLocalClient({ socket, protocol: database.protocol, start }, thrown, signal);
    });
    if (opened === undefined) return;
    await using session = opened;
    await relay(socket, session.stream, { signal });
  });
  agents.at = local.address;
  void local.closed.then(() => agents.close());
  return local;
}
