import { join } from "node:path";
import { giveBack } from "../../core/memory/give-back.ts";
import { whenQuiet } from "../../core/memory/when-quiet.ts";
import { FailedArrivals } from "../../core/transport/arrivals/failed-arrivals.ts";
import { HalfOpen } from "../../core/transport/arrivals/half-open.ts";
import { version } from "../../core/versions/version.ts";
import type { ProxyConfig } from "../config.ts";
import { CurrentIdentity } from "./identity/current-identity.ts";
import { WebCertificates } from "./identity/web-certificates.ts";
import type { ProxyDeps } from "./proxy-deps.ts";
import { openBetween } from "./recording/open-between.ts";
import { AccessCache } from "./routing/access-cache.ts";
import { AuditQueue } from "./routing/audit-queue.ts";
import { findSession } from "./routing/find-session.ts";
import { HostDirectory } from "./routing/host-directory.ts";
import { RelayedStreams } from "./routing/relayed-streams.ts";
import { RunningStreams } from "./routing/running-streams.ts";
import { ExpectedHosts } from "./tunnels/expected-hosts.ts";
import { TunnelRegistry } from "./tunnels/registry.ts";
import { StatusReports } from "./tunnels/status-reports.ts";

/** Maximum number of silent connections; beyond it the oldest is dropped. */
const maxHalfOpen = 4096;

export type ProxyServices = ReturnType<typeof createServices>;

/** State shared by the parts of a running proxy. */
export function createServices(config: ProxyConfig, deps: ProxyDeps, signal: AbortSignal) {
  const { log, auth, relayAuth } = deps;
  const now = deps.now ?? (() => new Date());
  const clock = deps.clock ?? (() => performance.now());
  const identity = new CurrentIdentity(deps.credentials);
  const { cluster } = identity.current();
  const { sshAlgorithms: algorithms } = config;
  const relaying: RelayedStreams = new RelayedStreams(() => worked());
  const isBusy = (): boolean => relaying.size > 0;
  /** A burst of tunnels leaves much freed memory behind, half of the memory of a thousand; so do large copies. */
  const worked = whenQuiet({ isBusy, act: () => giveBack(log, { isBusy }) }, signal);
  const life = { retired: false, modeIsKnown: false, failed: Promise.withResolvers<never>() };
  // Nobody may be waiting for it.
  life.failed.promise.catch(() => {});
  const access = new AccessCache({ auth, log, clock });
  const audit = new AuditQueue({ auth, log, clusterName: cluster, now, signal });
  const { between, run: sendRecordings } = openBetween({ folder: join(config.dataDir, "proxy"), auth, access, audit, log, now, algorithms, signal });
  return {
    config,
    log,
    auth,
    relayAuth,
    now,
    clock,
    signal,
    identity,
    algorithms,
    cluster,
    clusterName: cluster,
    version,
    access,
    audit,
    between,
    sendRecordings,
    registry: new TunnelRegistry(),
    findSession: (sid: string) => findSession(auth, sid),
    statuses: new StatusReports({ auth, log, signal }),
    expected: new ExpectedHosts(),
    arriving: new ExpectedHosts(),
    hosts: new HostDirectory({ auth, log, cluster, clock }),
    running: new RunningStreams({ log, now }),
    sockets: deps.sockets,
    life,
    retired: () => life.retired,
    halfOpen: new HalfOpen(maxHalfOpen),
    failed: new FailedArrivals({ log, clock }),
    certificates: new WebCertificates(config.keypairs, { log, now, inUse: deps.certificatesInUse }),
    relaying,
    tunnelsChanged: worked,
  };
}
