import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { Log } from "../core/log/log.ts";
import type { Offered } from "../core/resources/offered.ts";
import type { ClusterProxy } from "../core/resources/proxy.ts";
import type { Env } from "../core/transport/dial/choose-proxy.ts";
import { formatHostPort } from "../core/transport/host-port.ts";
import type { ListenSockets } from "../core/transport/listen-sockets.ts";
import type { AccessSource } from "./access/access-source.ts";
import type { AuthSource } from "./auth-source.ts";
import type { AgentConfig } from "./config.ts";
import type { UpdaterSide } from "./follow-updater.ts";
import type { AuthorityFollower } from "./identity/follow-authorities.ts";
import type { IdentityKeeper } from "./identity/identity-keeper.ts";
import type { HostLabels } from "./labels/host-labels.ts";
import type { Outbox } from "./outbox.ts";
import type { Reach } from "./reach.ts";
import { followProxies, readList } from "./tunnels/follow-proxies.ts";
import { openNext } from "./tunnels/open-next.ts";
import type { Clock } from "./tunnels/tunnel.ts";
import { Tunnels } from "./tunnels/tunnels.ts";

export interface ReachParts {
  readonly config: AgentConfig;
  readonly env: Env;
  readonly log: Log;
  readonly clock: Clock;
  readonly identity: IdentityKeeper;
  readonly auth: AuthSource;
  readonly outbox: Outbox;
  readonly access: AccessSource;
  readonly authorities: AuthorityFollower;
  readonly labels: HostLabels;
  readonly updater: UpdaterSide;
  readonly sockets: ListenSockets;
  readonly services: readonly string[];
  /** Resources that the services offer now. */
  readonly offered: () => readonly Offered[] | undefined;
  /** A proxy reports the revision of the cluster's resources that services may offer. */
  readonly onResources: (revision: string) => void;
  /** UUID under which the sessions of this process are reported. */
  readonly process: string;
  /** Serves one stream until it ends. Never throws. */
  readonly serve: (channel: Duplex) => Promise<void>;
  /** Called after work that leaves garbage memory behind. */
  readonly worked: () => void;
  /** This host's local address on its connection to the auth service. */
  readonly local: () => string | undefined;
}

/** Makes this host reachable by users: a tunnel, or, where it joins the auth service directly, a port of its own. */
export async function openReach(parts: ReachParts, end: AbortSignal): Promise<Reach> {
  const { config, env, log, clock, access, updater, authorities, labels, serve, worked } = parts;
  const { way, nodename } = config;
  const common = {
    log,
    serve,
    onAccess: (revision: string) => access.announce(revision),
    onMaintenance: updater.announce,
    status: updater.status,
    labels: () => labels.current,
  };
  if (way.kind === "direct") {
    const { identity, auth, outbox, sockets, services, local, offered, onResources } = parts;
    const own = { identity, auth, audit: outbox.audit, access, authorities, sockets, services, local, offered, onResources };
    // A host with a tunnel has no use for it.
    const { openDirect } = await import("./direct/open-direct.ts");
    return await openDirect({ ...own, ...common, way, nodename, steady: clock.steady });
  }
  const { proxyServer, isLocal = false } = way;
  const next = {
    nodename,
    isLocal,
    home: formatHostPort(proxyServer),
    avoided: new Map<string, number>(),
    answers: new Map(),
    identity: parts.identity,
    labels,
    services: parts.services,
    process: parts.process,
    env,
    updater,
    authorities,
  };
  const file = join(config.dataDir, "agent", "proxies.json");
  const onList = (proxies: readonly ClusterProxy[]): void => tunnels.follow(proxies);
  const list = followProxies({ client: () => parts.auth.client(), log, onList, file }, end);
  const tunnels: Tunnels = new Tunnels({
    ...common,
    hostId: parts.identity.current().hostId,
    offered: parts.offered,
    home: next.home,
    remembered: await readList(file),
    clock,
    open: (to, onStream, ended) => openNext(next, { ...to, onStream }, AbortSignal.any([ended, end])).finally(worked),
    onAuthorities: authorities.announced,
    onProxies: list.announced,
    onResources: parts.onResources,
  });
  return tunnels;
}
