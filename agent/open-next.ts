import type { Duplex } from "node:stream";
import { PlatformError } from "../core/errors/platform-error.ts";
import type { Env } from "../core/transport/dial/choose-proxy.ts";
import { discoverTunnel } from "../core/transport/discover-tunnel.ts";
import type { HostPort } from "../core/transport/host-port.ts";
import { version } from "../core/versions/version.ts";
import type { AuthorityFollower } from "./follow-authorities.ts";
import type { UpdaterSide } from "./follow-updater.ts";
import type { IdentityKeeper } from "./identity-keeper.ts";
import type { HostLabels } from "./labels/host-labels.ts";
import { type OpenedTunnel, openTunnel } from "./open-tunnel.ts";

export interface NextTunnel {
  readonly nodename: string;
  readonly proxyServer: HostPort;
  readonly identity: IdentityKeeper;
  readonly labels: HostLabels;
  readonly services: readonly string[];
  readonly process: string;
  readonly env: Env;
  readonly updater: UpdaterSide;
  readonly authorities: AuthorityFollower;
}

/** Opens a tunnel. Where to is asked each time: an address that has changed is followed. */
export async function openNext(
  { nodename, proxyServer, identity, labels, services, process, env, updater, authorities }: NextTunnel,
  onStream: (channel: Duplex) => void,
  signal: AbortSignal,
): Promise<OpenedTunnel> {
  const credentials = identity.current();
  const target = await discoverTunnel({ proxy: proxyServer, hostCa: credentials.hostCaPem, env, signal });
  const facts = { hostname: nodename, labels: () => labels.current, services, version, process, status: updater.status };
  try {
    return await openTunnel({ target, credentials, facts, dial: { env }, onStream, signal });
  } catch (thrown) {
    // Perhaps the proxy's certificate is of a key that came while this host was away.
    if (thrown instanceof PlatformError && thrown.code === "unauthenticated") await authorities.ask();
    throw thrown;
  }
}
