import { compareVersions, type Fit, judgeFit } from "../../../core/versions/compare-versions.ts";
import { version } from "../../../core/versions/version.ts";
import { unreadableRoleWarnings } from "../access/stored-role.ts";
import type { AuthContext } from "../auth-context.ts";
import type { LiveNode } from "../inventory/live-nodes.ts";
import { failedReloadWarning } from "../inventory/live-proxies.ts";
import { refusedNames } from "../inventory/names-in-use.ts";
import { offerFaults, offerWarnings } from "../inventory/offer-faults.ts";
import { goneWarnings } from "../inventory/presence-watch.ts";
import { clusterNameWarnings } from "../open-cluster.ts";
import { findMaintenance } from "../rollout/maintenance.ts";
import { replacedWarning } from "./installed-version.ts";
import { proxyFacts, proxyWarnings } from "./proxy-warnings.ts";
import { sharedNames, sharedNameWarnings } from "./shared-names.ts";

/** Warnings for an admin, a sentence each. */
export async function clusterWarnings(context: AuthContext): Promise<readonly string[]> {
  const { channels, proxies, proxyReports, presence, shipping, clusterName, storage, room, live } = context;
  const named = (proxy: string): string => proxies.addressOf(proxy) ?? proxy;
  const failed = context.failedReload();
  const replaced = await replacedWarning(version, { running: "/proc/self/exe", onDisk: process.execPath });
  return [
    ...room.warnings(),
    ...(replaced === undefined ? [] : [replaced]),
    ...clusterNameWarnings(clusterName),
    ...(await unreadableRoleWarnings(storage)),
    ...channels.warnings(named),
    ...channels.troubleWarnings(named),
    ...proxyReports.warnings(named),
    ...(failed === undefined ? [] : [failedReloadWarning("the auth service", failed)]),
    ...versionWarnings(
      [...live.all()].map(([, node]) => node),
      version,
    ),
    ...(await windowWarnings(context)),
    ...goneWarnings(presence.absent.values()),
    ...nameWarnings(await refusedNames(storage)),
    ...sharedNameWarnings(await sharedNames(context)),
    ...offerWarnings(offerFaults(context.offered, live).values()),
    ...context.offerRoom.warnings(),
    ...shipping.warnings(),
    ...proxyWarnings(await proxyFacts(context)),
  ];
}

/** Maximum number of hosts listed with a sentence each. */
const mostNamed = 5;

function nameWarnings(refused: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const shown = [...refused].slice(0, mostNamed).map(([id, why]) => `host ${id} did not get a name that it requested: ${why.join("; ")}`);
  const more = refused.size - mostNamed;
  return more > 0 ? [...shown, `${more} more hosts did not get a name that they requested: see tctl inventory status`] : shown;
}

async function windowWarnings({ live, storage }: AuthContext): Promise<readonly string[]> {
  const enrolled = [...live.all()].filter(([, { connected, status }]) => connected && status !== undefined && status.upgrader !== "none").length;
  if (enrolled === 0 || (await findMaintenance(storage)) !== undefined) return [];
  return [`no maintenance window: ${enrolled} hosts take critical versions only, until there is a cluster_maintenance_config (tctl create)`];
}

/** Maximum number of hosts listed; `tctl inventory status` has them all. */
const maxNamed = 3;

const texts: Readonly<Record<Exclude<Fit, "fits">, string>> = {
  too_new: "newer by a major than the cluster, so newer features may not work: upgrade the cluster first",
  too_old: "too old for the cluster, so newer features may not work: upgrade them",
  newer: "newer than the cluster, which must be upgraded first",
};

/** Warnings about connected hosts with a version incompatible with the cluster's, a sentence for each kind. Pure. */
export function versionWarnings(nodes: Iterable<LiveNode>, cluster: string): readonly string[] {
  const groups = Map.groupBy(
    [...nodes].filter(({ connected }) => connected),
    ({ version }) => judgeFit(version, cluster),
  );
  return (["too_new", "too_old", "newer"] as const).flatMap((fit) => {
    const hosts = groups.get(fit)?.toSorted((a, b) => compareVersions(a.version, b.version) || (a.hostname < b.hostname ? -1 : 1)) ?? [];
    if (hosts.length === 0) return [];
    const named = hosts.slice(0, maxNamed).map(({ hostname, version }) => `${hostname} (${version})`);
    const more = hosts.length > maxNamed ? ` and ${hosts.length - maxNamed} more` : "";
    return [`the cluster is ${cluster}; ${named.join(", ")}${more}: ${texts[fit]}`];
  });
}
