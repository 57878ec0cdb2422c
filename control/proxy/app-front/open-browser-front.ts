import type { AuthClient } from "../../../core/api/auth-client.ts";
import type { KeptConnections } from "../kept-connections.ts";
import type { AccessCache } from "../routing/access-cache.ts";
import type { ReachServices } from "../routing/reach-served.ts";
import type { RelayedStreams } from "../routing/running-streams.ts";
import { type PingFacts, publicAddress } from "../web-api/ping.ts";
import type { ForwardedPeers } from "../web-api/server/forwarded-peers.ts";
import { AgentConnections } from "./agent-connections.ts";
import type { ServeBrowser } from "./app-front.ts";
import { AppSessions } from "./app-sessions.ts";
import type { AppSites } from "./app-sites.ts";
import { createBrowserFront } from "./browser-front.ts";
import { SiteAddresses } from "./site-address.ts";

export interface OpenFrontServices extends ReachServices {
  readonly auth: AuthClient;
  readonly access: ReachServices["access"] & Pick<AccessCache, "revision">;
  readonly clock: () => number;
  readonly relaying: RelayedStreams;
  readonly kept: Pick<KeptConnections, "addServer">;
  readonly appSites: AppSites;
  readonly forwarded: Pick<ForwardedPeers, "of">;
  /** Current facts: ports are known once they are bound. */
  readonly ping: () => PingFacts;
}

export interface BrowserFront {
  readonly serveBrowser: ServeBrowser;
  /** Sessions of browsers may have ended now. */
  readonly sessionsEnded: () => void;
  readonly appSessions: Pick<AppSessions, "opened">;
}

/** Browsers at the host names of applications, until the signal. */
export function openBrowserFront(services: OpenFrontServices): BrowserFront {
  const sessions = new AppSessions(services);
  const connections = new AgentConnections({ ...services, sessions });
  const addresses = (): SiteAddresses => new SiteAddresses(publicAddress(services.ping()));
  const serveBrowser = createBrowserFront({ ...services, sessions, connections, addresses, sites: services.appSites });
  return { serveBrowser, sessionsEnded: () => sessions.checkSoon(), appSessions: sessions };
}
