import type { Duplex } from "node:stream";
import { type DialOptions, dial } from "../../core/transport/dial/dial.ts";
import { dialWebPort } from "../../core/transport/upgrade/dial-web-port.ts";
import { type AgentConfig, joinAddress } from "../config.ts";

/** A byte stream to the auth service where this host joins: through a proxy's web port, or at its own. Throws what `dial` throws. */
export async function dialJoin({ way }: Pick<AgentConfig, "way">, options: DialOptions): Promise<Duplex> {
  const address = joinAddress({ way });
  return way.kind === "proxy" ? await dialWebPort(address, options) : await dial(address, options);
}
