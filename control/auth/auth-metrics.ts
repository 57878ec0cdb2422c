import { serviceNames } from "../../core/kinds/service-kinds.ts";
import type { Node } from "../../core/resources/node.ts";
import type { ProxyState } from "../../core/resources/proxy.ts";
import { judgeFit } from "../../core/versions/compare-versions.ts";
import { version } from "../../core/versions/version.ts";
import type { AuthContext } from "./auth-context.ts";
import { proxyStates } from "./inventory/cluster-proxies.ts";
import { listNodes } from "./inventory/nodes.ts";
import { withoutV } from "./rollout/rollout-host.ts";

/** Maximum number of hosts with their own sample; beyond it only those that are gone have one. */
const maxNamed = 10_000;
const maxGone = 1_000;
/** Maximum number of distinct versions; hosts choose what they report. */
const maxVersions = 100;

type Watched = Pick<AuthContext, "storage" | "live" | "presence" | "rollouts" | "proxies" | "channels">;
type Series = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

/** Metrics of the auth service, in the text format of Prometheus. Created at every call: a removed host leaves nothing behind. */
export async function authMetrics(context: Watched): Promise<string> {
  const { Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  const gauge = (name: string, help: string, series: Series): void => {
    // A gauge without labels has a sample of 0 from the start: without hosts there must be none.
    const [first] = series[0] ?? [{ none: "" }];
    const made = new Gauge({ name, help, labelNames: Object.keys(first), registers: [registry] });
    for (const [labels, value] of series) made.set({ ...labels }, value);
  };
  addHosts(gauge, { presence: context.presence, nodes: await listNodes(context) });
  addProxies(gauge, await proxyStates(context));
  addRollouts(gauge, context);
  addVersions(gauge, context);
  return await registry.metrics();
}

type AddGauge = (name: string, help: string, series: Series) => void;

function addHosts(gauge: AddGauge, { presence, nodes }: Pick<Watched, "presence"> & { nodes: readonly Node[] }): void {
  const absent = [...presence.absent].map(([host, { kind, hostname }]) => ({ host, kind, hostname }));
  const gone = absent.filter(({ kind }) => kind === "gone");
  const named = nodes.slice(0, maxNamed).map(({ metadata, spec, status }) => {
    return [{ host: metadata.name, hostname: spec.hostname }, status?.connected === true ? 1 : 0] as const;
  });
  gauge("platform_agent_connected", "1 while the host has a tunnel, else 0", named);
  gauge(
    "platform_agent_gone",
    "1 for each host whose tunnel is gone without notice from its agent",
    gone.slice(0, maxGone).map(({ host, hostname }) => [{ host, hostname }, 1]),
  );
  gauge("platform_agents_gone", "Hosts whose tunnel is gone without notice from their agent", [[{}, gone.length]]);
  gauge("platform_agents_stopped", "Hosts whose agent announced its stop and has not come back", [[{}, absent.length - gone.length]]);
  const versions = countBy(nodes, ({ spec, status }) => JSON.stringify([withoutV(spec.version), status?.host?.upgrader ?? "unknown"]));
  const known = [...versions].sort((a, b) => b[1] - a[1]);
  const others = known.slice(maxVersions).reduce((sum, [, count]) => sum + count, 0);
  const counts = known.slice(0, maxVersions).map(([key, count]) => {
    const [version = "", upgrader = ""] = JSON.parse(key) as string[];
    return [{ version, upgrader }, count] as const;
  });
  gauge("platform_hosts", "Hosts of the inventory", others === 0 ? counts : [...counts, [{ version: "other", upgrader: "other" }, others]]);
  gauge("platform_hosts_offering", "Connected hosts that offer a service, by its kind", offering(nodes));
  const reasons = countBy(nodes, ({ status }) => status?.host?.reason);
  gauge(
    "platform_host_upgrade_reason",
    "Hosts by the result of their updater's last tick",
    [...reasons].map(([reason, count]) => [{ reason }, count]),
  );
}

/** Hosts choose what they report: services of unknown kinds are left out. */
function offering(nodes: readonly Node[]): Series {
  const connected = nodes.filter(({ status }) => status?.connected === true);
  const counts = serviceNames.map((service) => [{ service }, connected.filter(({ spec }) => spec.services.includes(service)).length] as const);
  return counts.filter(([, count]) => count > 0);
}

function addVersions(gauge: AddGauge, { channels, live }: Watched): void {
  const troubles = countBy(channels.troubles(), ({ channel, kind }) => JSON.stringify([channel, kind]));
  const failing = [...troubles].slice(0, maxVersions).map(([key, count]) => {
    const [channel = "", kind = ""] = JSON.parse(key) as string[];
    return [{ channel, kind }, count] as const;
  });
  gauge("platform_channel_trouble", "Proxies at which a version channel serves none (beyond_major) or its upstream fails (upstream_failed)", failing);
  const here = [...live.all()].flatMap(([, node]) => (node.connected ? [judgeFit(node.version, version)] : []));
  const unfit = [...countBy(here, (fit) => (fit === "too_new" || fit === "too_old" ? fit : undefined))];
  gauge(
    "platform_hosts_unfit",
    "Connected hosts with a version incompatible with the cluster's",
    unfit.map(([fit, count]) => [{ fit }, count]),
  );
}

function addProxies(gauge: AddGauge, states: readonly ProxyState[]): void {
  const each = (value: (state: ProxyState) => number): Series => states.map((state) => [{ proxy: state.id, name: state.name }, value(state)]);
  gauge(
    "platform_proxy_connected",
    "1 while the proxy is connected to the auth service, else 0",
    each(({ connected }) => (connected ? 1 : 0)),
  );
  gauge(
    "platform_proxy_hosts",
    "Hosts with a tunnel to the proxy",
    each(({ hosts }) => hosts),
  );
}

function addRollouts(gauge: AddGauge, { rollouts }: Watched): void {
  const { channels } = rollouts.standing();
  const staged = channels.filter(({ phase }) => phase !== undefined);
  const each = (value: (channel: (typeof staged)[number]) => number): Series =>
    staged.map((one) => [{ channel: one.channel, version: one.version }, value(one)]);
  gauge(
    "platform_rollout_stopped",
    "1 while the roll-out of a channel's version is stopped by failures",
    each(({ stopped }) => (stopped === undefined ? 0 : 1)),
  );
  gauge(
    "platform_rollout_paused",
    "1 while paused by an admin",
    each(({ paused }) => (paused === undefined ? 0 : 1)),
  );
  gauge(
    "platform_rollout_frozen",
    "1 while held by a freeze",
    each(({ frozen }) => (frozen === undefined ? 0 : 1)),
  );
  gauge(
    "platform_rollout_done",
    "1 when every group has the version",
    each(({ phase }) => (phase === "done" ? 1 : 0)),
  );
  gauge(
    "platform_rollout_failed_hosts",
    "Hosts on which the version failed",
    each(({ failed }) => failed.length),
  );
  gauge(
    "platform_rollout_hosts",
    "Hosts of a group: done have the version, released may install it now, left_out cannot or will not",
    staged.flatMap(({ channel, groups }) =>
      groups.flatMap(
        ({ name: group, done, released, left_out: leftOut }): Series => [
          [{ channel, group, state: "done" }, done],
          [{ channel, group, state: "released" }, released],
          [{ channel, group, state: "left_out" }, leftOut],
        ],
      ),
    ),
  );
}

function countBy<T>(values: readonly T[], keyOf: (value: T) => string | undefined): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) {
    const key = keyOf(value);
    if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}
