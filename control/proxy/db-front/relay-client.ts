import type { TLSSocket } from "node:tls";
import { wordsAtLoss } from "../../../core/databases/postgres/words-at-loss.ts";
import { refusals } from "../../../core/databases/refusals.ts";
import { toPlatformError } from "../../../core/errors/platform-error.ts";
import { relayStream } from "../routing/relay-stream.ts";
import type { FrontArrival, FrontServices } from "./front.ts";
import { type FrontClient, reachDatabase } from "./reach-database.ts";

/**
 * Reaches the client's database and relays between the two until the end, or reports why that is not possible, in the protocol's words. Never throws.
 */
export async function relayClient(
  client: FrontClient,
  { established, services }: Pick<FrontArrival, "established"> & { readonly services: FrontServices },
): Promise<void> {
  let agent: TLSSocket;
  try {
    agent = await reachDatabase(client, services);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    if (error.code === "internal") services.log.error("could not reach a database for a client of its port", { peer: client.peer, error: thrown });
    return await refusals[client.protocol](client.tls, error, services.signal);
  }
  established();
  const words = client.protocol === "postgres" ? wordsAtLoss(agent, "the connection to the agent of this database was lost") : undefined;
  void relayStream(client.tls, agent, services, words);
}
