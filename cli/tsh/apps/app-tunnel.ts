import { relay } from "../../../core/transport/relay.ts";
import type { Call } from "../../command.ts";
import type { ProfileSource } from "../../profile/follow-profile.ts";
import { withTrust } from "../../profile/reach-cluster.ts";
import { type LocalPort, openLocalPort } from "../served/local-port.ts";
import { openServed } from "../served/open-served.ts";

export interface AppTunnelAsk {
  /** Name of the application. */
  readonly name: string;
  /** Each connection uses the login as it is then. */
  readonly source: ProfileSource;
  /** 0: any free one. */
  readonly port: number;
}

/** A local port whose connections go to an application; a failure of one is printed and ends that one. Throws `unavailable`. */
export async function openAppTunnel(call: Call, { name, source, port }: AppTunnelAsk): Promise<LocalPort> {
  return await openLocalPort(call.io, port, async (socket, signal) => {
    const profile = await source.current();
    const stream = await withTrust(call, profile, (trusting) => openServed(call.io, trusting, { kind: "app", name, parameters: {} }));
    await relay(socket, stream, { signal });
  });
}
