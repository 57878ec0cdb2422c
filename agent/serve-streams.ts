import type { Log } from "../core/log/log.ts";
import { readDocument } from "../core/resources/document.ts";
import type { AccessSource } from "./access/access-source.ts";
import type { AuthSource } from "./auth-source.ts";
import type { IdentityKeeper } from "./identity-keeper.ts";
import type { HostLabels } from "./labels/host-labels.ts";
import type { Outbox } from "./outbox.ts";
import { openLeases } from "./service/connection-lease.ts";
import type { ServiceDeps } from "./service/deps.ts";
import { LiveSessions } from "./service/live-sessions.ts";
import type { OfferedSource, Service } from "./service/service.ts";
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

export interface ServedStreams extends Streams {
  /** Identifies this process in reports of its sessions. */
  readonly process: string;
  readonly offered: OfferedSource;
}

/** Opens the services, and serves the streams that come through the tunnels. */
export async function serveStreams(parts: ServingParts, signal: AbortSignal): Promise<ServedStreams> {
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
  const listResources: ServiceDeps["listResources"] = async (document) => {
    const { resources } = await (await auth.client()).listResources({ kind: document.name });
    return resources.map(({ json }) => readDocument(document, json));
  };
  const facts = { credentials: () => identity.current(), access, audit, recordings, node, listResources };
  const deps: ServiceDeps = { ...facts, live, lease, shares: new UserShares(), log };
  const opened = await Promise.all(services.map((service) => service.open(deps, signal)));
  const sources = opened.flatMap(({ offered }) => offered ?? []);
  const offered: OfferedSource = {
    current: () => sources.flatMap((source) => source.current()),
    onChange: (listener) => {
      for (const source of sources) source.onChange(listener);
    },
  };
  const streams = openStreams({ services: Object.assign({}, ...opened.map(({ serve }) => serve)), log }, signal);
  return Object.assign(streams, { process: live.process, offered });
}
