import { compareVersions } from "../../../core/versions/compare-versions.ts";
import { type Fit, judgeFit } from "../../../core/versions/judge-fit.ts";
import type { LiveNode } from "./live-nodes.ts";

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
