import type { Log } from "../core/log/log.ts";
import type { AccessSource } from "./access/access-source.ts";
import type { AuthSource } from "./auth-source.ts";
import type { IdentityKeeper } from "./identity-keeper.ts";
import type { HostLabels } from "./labels/host-labels.ts";
import type { Outbox } from "./outbox.ts";
import { openLeases } from "./service/connection-lease.ts";
import type { ServiceDeps } from "./service/deps.ts";
import { LiveSessions } from "./service/live-sessions.ts";
import type { Service } from "./service/service.ts";
import { UserShares } from "./service/user-shares.ts";
import { reportSessions } from "./session-reports.ts";
import { openStreams, type Streams } from "./streams.ts";

export interface ServingParts {
  readonly services: readonly Service[];
  readonly nodename: string;
  readonly identity: IdentityKeeper;
  readonly auth: AuthSource;
  readonly outbox: Outbox;
  readonly access: AccessSource;
  readonly labels: HostLabels;
  readonly log: Log;
}

/** Opens the services, and serves what comes through the tunnels. `process` identifies this process in reports of its sessions. */
export async function serveStreams(parts: ServingParts, signal: AbortSignal): Promise<Streams & { readonly process: string }> {
  const { services, nodename, identity, auth, outbox, access, labels, log } = parts;
  const { audit, recordings } = outbox;
  const node = {
    name: nodename,
    get labels() {
      return labels.current;
    },
  };
  const live = new LiveSessions();
  reportSessions({ live, client: () => auth.client(), log }, signal);
  const lease = openLeases({ client: () => auth.client(), log });
  const deps: ServiceDeps = { credentials: () => identity.current(), access, audit, recordings, live, node, lease, shares: new UserShares(), log };
  const opened = await Promise.all(services.map((service) => service.open(deps)));
  return Object.assign(openStreams({ services: Object.assign({}, ...opened), log }, signal), { process: live.process });
}
