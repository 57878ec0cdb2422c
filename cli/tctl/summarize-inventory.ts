import type { Instance } from "../../core/resources/instance.ts";
import { maxAgentProxies } from "../../core/resources/proxy.ts";
import { compareVersions, judgeFit, parseVersion } from "../../core/versions/compare-versions.ts";
import type { UpgradeReason } from "../../core/versions/upgrade-reason.ts";

/** A host that needs an admin's attention. */
export interface HostLine {
  readonly server_id: string;
  readonly hostname: string;
  readonly version: string;
  readonly wanted?: string;
  readonly reason?: UpgradeReason;
  readonly detail?: string;
  /** Time of its updater's last run, or of its disappearance; RFC 3339. */
  readonly at?: string;
}

/** The result of `tctl inventory status`, in its JSON form. */
export interface InventorySummary {
  readonly total: number;
  readonly connected: number;
  /** Number of connected instances by version, and by upgrader; hosts, proxies and auth service. */
  readonly versions: Readonly<Record<string, number>>;
  readonly upgraders: Readonly<Record<string, number>>;
  /** Connected hosts with an older version than their channel's, and with a newer one. */
  readonly behind: readonly HostLine[];
  readonly ahead: readonly HostLine[];
  /** Connected hosts and proxies that are too old for the auth service's version, or newer by a major. */
  readonly unfit: readonly HostLine[];
  /** Hosts whose updater failed. */
  readonly failed: readonly HostLine[];
  readonly no_schedule: readonly HostLine[];
  readonly timer_off: readonly HostLine[];
  readonly not_enrolled: readonly HostLine[];
  /** Hosts whose certificate lacks names from their configuration. */
  readonly refused_names: readonly HostLine[];
  readonly gone: readonly HostLine[];
  /** Hosts without a tunnel to some of the proxies. */
  readonly partly_connected: readonly HostLine[];
}

/** Results of a run that need an admin. */
const troubles: ReadonlySet<UpgradeReason> = new Set<UpgradeReason>([
  "known_bad",
  "major_mismatch",
  "below_minimum",
  "not_signed",
  "endpoint_unreachable",
  "certificate_wrong",
  "version_nonsense",
  "not_configured",
  "package_missing",
  "repository_unreachable",
  "signature_wrong",
  "no_space",
  "no_way_back",
  "package_manager_failed",
  "rolled_back",
  "rollback_failed",
  "restart_needed",
  "updater_missing",
  "updater_silent",
  "internal",
]);

/** Pure. Lists are in the order of the instances. */
export function summarizeInventory(instances: readonly Instance[]): InventorySummary {
  const here = instances.filter(({ connected }) => connected);
  const hosts = here.filter(({ services }) => !services.includes("auth") && !services.includes("proxy"));
  const lines = (fits: (host: Instance) => boolean): HostLine[] => hosts.filter(fits).map(hostLine);
  const cluster = here.find(({ services }) => services.includes("auth"))?.version ?? "";
  const reasonIs = (reason: UpgradeReason) => (host: Instance) => host.status?.reason === reason;
  return {
    total: instances.length,
    connected: here.length,
    versions: counts(here.map(({ version }) => version).sort(newestFirst)),
    upgraders: counts(here.map(({ upgrader }) => upgrader).sort()),
    behind: lines((host) => distance(host) < 0),
    ahead: lines((host) => distance(host) > 0),
    unfit: here.flatMap((host) => unfitLine(host, cluster)),
    failed: lines(({ status }) => status?.reason !== undefined && troubles.has(status.reason)),
    no_schedule: hosts.filter(lacksSchedule).map((host) => ({ ...hostLine(host), ...detailOf(host.status?.schedule_error ?? host.status?.detail) })),
    timer_off: lines(reasonIs("timer_off")),
    not_enrolled: lines(({ upgrader }) => upgrader === "none"),
    refused_names: instances.flatMap((host) =>
      host.refused_names === undefined ? [] : [{ ...hostLine(host), ...detailOf(host.refused_names.join("; ")) }],
    ),
    partly_connected: partlyConnected(here, hosts),
    gone: instances.filter(({ connected }) => !connected).map((host) => ({ ...hostLine(host), ...(host.since !== undefined && { at: host.since }) })),
  };
}

function unfitLine(host: Instance, cluster: string): HostLine[] {
  const fit = judgeFit(host.version, cluster);
  if (fit === "fits" || fit === "newer") return [];
  const detail = fit === "too_new" ? `newer by a major than the cluster (${cluster})` : `too old for the cluster (${cluster})`;
  return [{ server_id: host.server_id, hostname: host.hostname, version: host.version, detail }];
}

function partlyConnected(here: readonly Instance[], hosts: readonly Instance[]): readonly HostLine[] {
  const proxies = here.filter(({ services }) => services.includes("proxy"));
  const wanted = Math.min(proxies.length, maxAgentProxies);
  return hosts.flatMap((host) => {
    const { proxies: held } = host;
    if (held === undefined || held.length >= wanted) return [];
    const missing = proxies.filter(({ server_id: id }) => !held.includes(id)).map(({ hostname }) => hostname);
    return [{ ...hostLine(host), detail: `no tunnel to ${missing.join(", ")}` }];
  });
}

function lacksSchedule({ upgrader, status }: Instance): boolean {
  return upgrader === "unit" && status?.schedule_until === undefined;
}

/** Below 0: older than wanted; also 0 when it is unknown. */
function distance({ version, wanted }: Instance): number {
  const [has, wants] = [parseVersion(version), parseVersion(wanted ?? "")];
  return has === undefined || wants === undefined ? 0 : compareVersions(has.text, wants.text);
}

function hostLine({ server_id, hostname, version, wanted, status }: Instance): HostLine {
  const { reason, detail, at } = status ?? {};
  return {
    server_id,
    hostname,
    version,
    ...(wanted !== undefined && { wanted }),
    ...(reason !== undefined && { reason }),
    ...detailOf(detail),
    ...(at !== undefined && { at }),
  };
}

function detailOf(detail: string | undefined): { detail?: string } {
  return detail === undefined ? {} : { detail };
}

function counts(values: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries([...Map.groupBy(values, (value) => value)].map(([value, all]) => [value, all.length]));
}

function newestFirst(a: string, b: string): number {
  const [left, right] = [parseVersion(a), parseVersion(b)];
  if (left !== undefined && right !== undefined) return compareVersions(right.text, left.text) || (a < b ? -1 : 1);
  return left === undefined ? (right === undefined ? (a < b ? -1 : 1) : 1) : -1;
}
