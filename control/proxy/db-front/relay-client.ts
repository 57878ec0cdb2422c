import type { TLSSocket } from "node:tls";
import type { LostEnds } from "../../../core/databases/lost-ends.ts";
import { refusals } from "../../../core/databases/refusals.ts";
import { wordsAtLoss } from "../../../core/databases/words-at-loss.ts";
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
  void relayToAgent(client, { client: client.tls, server: agent }, services);
}

interface FrontEnds extends LostEnds {
  readonly client: TLSSocket;
  readonly server: TLSSocket;
}

/** Relays between a client and the agent of its database, who is followed in case that it is lost. Never rejects. */
export async function relayToAgent({ protocol }: Pick<FrontClient, "protocol">, ends: FrontEnds, services: FrontServices): Promise<void> {
  const words = wordsAtLoss(protocol, ends, "the connection to the agent of this database was lost");
  await relayStream(ends.client, ends.server, services, words);
}
