import { shownWindows } from "../../../core/resources/maintenance-windows.ts";
import type { ChannelPlan, GroupPlan, HostPlan, UpgradePlan } from "../../../core/resources/upgrade-plan.ts";
import { freezeAt, freezesAfter, type UpgradeRollout } from "../../../core/resources/upgrade-rollout.ts";
import { findHold } from "./find-target.ts";
import { type NextChance, type PlannedChannel, planHost, planTimes } from "./plan-host.ts";
import { groupOf, isLeftOut, type RolloutHost } from "./rollout-host.ts";
import type { RolloutState } from "./rollout-state.ts";

/** Current state of one channel. */
export interface ChannelNow {
  readonly channel: string;
  /** Without v. */
  readonly target: string;
  readonly critical: boolean;
  readonly hosts: readonly RolloutHost[];
  /** Left out: there is no upgrade_rollout. */
  readonly state?: RolloutState | undefined;
}

export interface PlanFacts {
  readonly channels: readonly ChannelNow[];
  readonly spec: UpgradeRollout["spec"] | undefined;
  /** The maintenance window that runs or comes next after a moment, ms. */
  readonly window: (after: number) => { readonly start: number; readonly stop: number } | undefined;
  readonly now: number;
  readonly brief: boolean;
  /** Problems of channels, a sentence each. */
  readonly warnings: readonly string[];
}

/** The data of `tctl upgrades plan` and `status`. Pure. */
export function makePlan({ channels, spec, window, now, brief, warnings }: PlanFacts): UpgradePlan {
  const next = window(now);
  const freezes = freezesAfter(spec?.freezes ?? [], now);
  const hosts = brief ? undefined : channels.flatMap((one) => planHosts(one, { spec, window, now }));
  return {
    at: time(now),
    staged: spec !== undefined,
    ...(next !== undefined && { window: { start: time(next.start), stop: time(next.stop) } }),
    ...(!brief && next !== undefined && { windows: shownWindows({ window, freezes: spec?.freezes ?? [], now }) }),
    ...(freezes.length > 0 && {
      freezes: freezes.map(({ from, until, reason }) => ({ from: time(from), until: time(until), ...(reason !== undefined && { reason }) })),
    }),
    channels: channels.map((one) => planChannel(one, spec, now)),
    ...(warnings.length > 0 && { warnings: [...warnings] }),
    ...(hosts !== undefined && { hosts }),
  };
}

function planHosts(
  { channel, target, critical, hosts, state }: ChannelNow,
  { spec, window, now }: Pick<PlanFacts, "spec" | "window" | "now">,
): HostPlan[] {
  const chance: NextChance = (after) => {
    if (critical) return after;
    const found = window(after);
    return found === undefined ? undefined : Math.max(found.start, after);
  };
  const staged = state === undefined || spec === undefined ? undefined : { state, spec, times: planTimes(state, { spec, chance, now }) };
  const planned: PlannedChannel = { channel, target, critical, chance, now, staged };
  const order = new Map(spec?.groups.map(({ name }, index) => [name, index]));
  const rank = ({ group, canary }: HostPlan): number => (order.get(group ?? "") ?? 0) * 2 + (canary ? 0 : 1);
  const byName = (a: HostPlan, b: HostPlan): number => (a.hostname < b.hostname ? -1 : a.hostname > b.hostname ? 1 : a.host_id < b.host_id ? -1 : 1);
  return hosts.map((host) => planHost(host, planned)).sort((a, b) => rank(a) - rank(b) || byName(a, b));
}

function planChannel(now: ChannelNow, spec: UpgradeRollout["spec"] | undefined, at: number): ChannelPlan {
  const { channel, target: version, critical, state } = now;
  if (state === undefined || spec === undefined) return { channel, version, critical, back: false, groups: [], failed: [] };
  const frozen = freezeAt(spec.freezes, at);
  const { paused, stopped } = state;
  return {
    channel,
    version,
    critical,
    back: state.back,
    started: time(state.started),
    phase: state.phase,
    since: time(state.since),
    ...(state.until !== undefined && { until: time(state.until) }),
    ...(state.group !== "" && { group: state.group }),
    ...(paused !== undefined && { paused: { since: time(paused.since), by: paused.by } }),
    ...(stopped !== undefined && { stopped: { since: time(stopped.since), why: stopped.why } }),
    ...(frozen !== undefined && { frozen: { until: time(frozen.until), ...(frozen.reason !== undefined && { reason: frozen.reason }) } }),
    groups: planGroups(state, now.hosts, { spec, now: at }),
    failed: Object.entries(state.failed).map(([id, failure]) => ({
      host_id: id,
      hostname: failure.hostname,
      why: failure.why + (failure.forgiven ? " (before the last resume)" : ""),
      at: time(failure.at),
    })),
  };
}

function planGroups(state: RolloutState, hosts: readonly RolloutHost[], { spec, now }: { spec: UpgradeRollout["spec"]; now: number }): GroupPlan[] {
  const members = Map.groupBy(hosts, ({ labels }) => groupOf(spec.groups, labels)?.name ?? "");
  const names = new Map(hosts.map(({ id, hostname }) => [id, hostname]));
  return spec.groups.map(({ name }) => {
    const all = members.get(name) ?? [];
    const lacking = all.filter((host) => host.version !== state.version);
    const able = lacking.filter((host) => host.connected && !isLeftOut(host, state.version) && !Object.hasOwn(state.failed, host.id));
    return {
      name,
      hosts: all.length,
      done: all.filter((host) => host.connected && host.version === state.version).length,
      released: able.filter((host) => findHold(state, host, { spec, now }) === undefined).length,
      left_out: lacking.length - able.length,
      canaries: state.group === name ? state.canaries.map((id) => names.get(id) ?? id) : [],
    };
  });
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
