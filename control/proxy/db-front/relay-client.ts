import type { LostEnds } from "../../../core/databases/lost-ends.ts";
import { withKnownThreads } from "../../../core/databases/mysql/known-threads.ts";
import { refusals } from "../../../core/databases/refusals.ts";
import { wordsAtLoss } from "../../../core/databases/words-at-loss.ts";
import { toPlatformError } from "../../../core/errors/platform-error.ts";
import type { NewConnection } from "../receive-socket.ts";
import { relayStream } from "../routing/relay-stream.ts";
import type { FrontServices } from "./front.ts";
import { type FrontClient, type ReachedDatabase, reachDatabase } from "./reach-database.ts";

/**
 * Reaches the client's database and relays between the two until the end, or reports why that is not possible, in the protocol's words. Never throws.
 */
export async function relayClient(
  client: FrontClient,
  { established, services }: Pick<NewConnection, "established"> & { readonly services: FrontServices },
): Promise<void> {
  let reached: ReachedDatabase;
  try {
    reached = await reachDatabase(client, services);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    if (error.code === "internal") services.log.error("could not reach a database for a client of its port", { peer: client.peer, error: thrown });
    return await refusals[client.protocol](client.tls, error, services.signal);
  }
  established();
  void relayToAgent(client, reached, services);
}

/**
 * Relays between a client and the agent of its database. If the agent is lost, the client gets an error between two messages. Where a client kills a query, the agent
 * gets the server's number of its connection. `isLoggedIn`: as for `wordsAtLoss`. Never rejects.
 */
export async function relayToAgent(
  { tls: client, protocol, peer, isLoggedIn }: Omit<FrontClient, "at"> & Pick<LostEnds, "isLoggedIn">,
  { agent, database }: ReachedDatabase,
  services: FrontServices,
): Promise<void> {
  const ends = { client, server: agent, isLoggedIn: isLoggedIn === true };
  const lastWords = wordsAtLoss(protocol, ends, "the connection to the agent of this database was lost");
  const look = protocol === "mysql" ? withKnownThreads(async (own) => await services.cancels.threadOf({ database, own }, peer)) : undefined;
  await relayStream(client, agent, services, { lastWords, look });
}
