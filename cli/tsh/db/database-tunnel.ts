import { withKnownThreads } from "../../../core/databases/mysql/known-threads.ts";
import { wordsAtLoss } from "../../../core/databases/words-at-loss.ts";
import { toPlatformError } from "../../../core/errors/platform-error.ts";
import { relay } from "../../../core/transport/relay.ts";
import type { Call } from "../../command.ts";
import { writeError } from "../../output.ts";
import type { Profile } from "../../profile/profile.ts";
import { usableResources } from "../served/list-served.ts";
import { type LocalPort, openLocalPort } from "../served/local-port.ts";
import { isCancelRequest, readStart } from "./cancel-request.ts";
import { withLocalPorts } from "./cluster/local-ports.ts";
import { MemberPorts } from "./cluster/member-ports.ts";
import { findDatabase, noteShortName } from "./find-database.ts";
import { refuseLocalClient } from "./refuse-local-client.ts";
import { type AgentsAsk, TunnelAgents } from "./tunnel-agents.ts";

export interface UsableDatabase {
  readonly name: string;
  readonly protocol: string;
  /** The user's account there, if agents make it. */
  readonly account?: string;
  /** A cluster of Redis or Valkey, whose members get local ports of their own. */
  readonly isCluster?: boolean;
  /** A session with it needs a one-time code. */
  readonly needsCode?: boolean;
}

/** The database of this name, or the only one whose name begins so. With a certificate for one resource its protocol is not known. Throws `not_found`, `invalid`. */
export async function usableDatabase({ io }: Pick<Call, "io">, profile: Profile, given: string): Promise<UsableDatabase> {
  // The auth service answers no question to such a certificate; the proxy and the agent decide.
  if (profile.facts.route !== undefined) return { name: given, protocol: "" };
  const { name, details, account, needsCode } = findDatabase(await usableResources(io, profile, "db"), given);
  noteShortName(io, given, name);
  const isCluster = details.cluster === "yes";
  return {
    name,
    protocol: details.protocol ?? "",
    ...(account !== undefined && { account }),
    ...(isCluster && { isCluster }),
    ...(needsCode && { needsCode }),
  };
}

export interface TunnelAsk extends AgentsAsk {
  readonly database: UsableDatabase;
  /** 0: any free one. */
  readonly port: number;
  /** The client prints a refusal in its own way: it is printed here only where the client cannot be given it. */
  readonly clientPrints?: boolean;
}

/**
 * A local port whose connections go to a database, all to the same agent while that can be reached. A failure on the way is printed, and the client gets
 * it in the words of its protocol. The members of a cluster get further ports when the cluster names them. Throws `unavailable`.
 */
export async function openDatabaseTunnel(call: Call, ask: TunnelAsk): Promise<LocalPort> {
  const { database, port, clientPrints = false } = ask;
  if (database.isCluster !== true) return await openAgentsPort({ call, database, clientPrints, agents: new TunnelAgents(call, ask) }, port);
  const agents = new TunnelAgents(call, { ...ask, member: "any" });
  const members: MemberPorts = new MemberPorts(async (member) => {
    return await openAgentsPort({ call, database, clientPrints, agents: agents.ofMember(member), members }, 0);
  });
  const local = await openAgentsPort({ call, database, clientPrints, agents, members }, port);
  void local.closed.then(() => members.close());
  return local;
}

interface AgentsPort {
  readonly call: Call;
  readonly database: UsableDatabase;
  readonly clientPrints: boolean;
  readonly agents: TunnelAgents;
  /** Of a cluster. */
  readonly members?: MemberPorts;
}

async function openAgentsPort({ call, database: { protocol }, clientPrints, agents, members }: AgentsPort, port: number): Promise<LocalPort> {
  const local = await openLocalPort(call.io, port, async (socket, signal) => {
    const start = protocol === "postgres" ? await readStart(socket) : Buffer.alloc(0);
    if (isCancelRequest(start)) {
      await agents.cancel(start);
      socket.end();
      return;
    }
    const opened = await agents.open(start).catch(async (thrown: unknown) => {
      if (!clientPrints) writeError(call.io, toPlatformError(thrown));
      const isGiven = await refuseLocalClient({ socket, protocol, start }, thrown, signal);
      if (clientPrints && !isGiven) writeError(call.io, toPlatformError(thrown));
    });
    if (opened === undefined) return;
    await using session = opened;
    const stream = members === undefined ? session.stream : withLocalPorts(session.stream, members);
    const lastWords = wordsAtLoss(protocol, { client: socket, server: stream }, "the connection to the agent of this database was lost");
    const look = protocol === "mysql" ? withKnownThreads(async (own) => await agents.threadOf(own)) : undefined;
    await relay(socket, stream, { signal, lastWords, look });
    if (stream.errored !== null && stream !== session.stream) throw stream.errored;
  });
  agents.at = local.address;
  void local.closed.then(() => agents.close());
  return local;
}
