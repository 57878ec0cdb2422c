import type { Duplex } from "node:stream";
import { type RelayOptions, relay } from "../../../core/transport/relay.ts";
import type { RelayedStreams, RunningStreams } from "./running-streams.ts";

export interface RelayServices {
  readonly running: Pick<RunningStreams, "extend">;
  readonly relaying: RelayedStreams;
  readonly signal: AbortSignal;
}

/**
 * Relays between a user's client and the stream to an agent that was opened for it. Until both have closed they count for the user's limit, a lock cuts them,
 * and a stop of the proxy waits for them. Resolves then. Never rejects. `options`: as of `relay`, for the client.
 */
export function relayStream(
  client: Duplex,
  agent: Duplex,
  { running, relaying, signal }: RelayServices,
  options: Pick<RelayOptions, "lastWords" | "look"> = {},
): Promise<void> {
  const release = running.extend(agent, client);
  const over = relay(client, agent, { signal, ...options }).then(release);
  relaying.add(over);
  return over;
}
