import { parseDuration } from "../../../core/resources/duration.ts";
import type { HostPlan } from "../../../core/resources/upgrade-plan.ts";
import { type Freeze, freezeAt, type UpgradeRollout } from "../../../core/resources/upgrade-rollout.ts";
import { upgradeReasons } from "../../../core/versions/upgrade-reason.ts";
import { findHold } from "./find-target.ts";
import { groupOf, isLeftOut, type RolloutHost } from "./rollout-host.ts";
import type { RolloutState } from "./rollout-state.ts";

/** The first moment from `after` on, ms, at which a host may upgrade; undefined: none is foreseeable. */
export type NextChance = (after: number) => number | undefined;

/** The earliest start of a group's canaries, and of the rest; left out: unknown. */
interface GroupTimes {
  readonly canaries?: number | undefined;
  readonly rest?: number | undefined;
}

/** The roll-out of one channel's version, as seen by a plan. */
export interface PlannedChannel {
  readonly channel: string;
  /** Without v. */
  readonly target: string;
  readonly critical: boolean;
  readonly chance: NextChance;
  readonly now: number;
  /** Left out: there is no upgrade_rollout. */
  readonly staged?:
    | { readonly state: RolloutState; readonly spec: UpgradeRollout["spec"]; readonly times: ReadonlyMap<string, GroupTimes> }
    | undefined;
}

type Outcome = Pick<HostPlan, "verdict" | "why"> & { readonly at?: number | undefined };

/** When a host is upgraded, or why not. Pure. */
export function planHost(host: RolloutHost, planned: PlannedChannel): HostPlan {
  const { channel, target, staged } = planned;
  const group = staged === undefined ? undefined : groupOf(staged.spec.groups, host.labels)?.name;
  const canary = staged !== undefined && staged.state.group === group && staged.state.canaries.includes(host.id);
  const { verdict, why, at } = outcome(host, planned, { group, canary });
  return {
    host_id: host.id,
    hostname: host.hostname,
    ...(group !== undefined && { group }),
    channel,
    current: host.version,
    target,
    verdict,
    canary,
    ...(at !== undefined && { when: new Date(at).toISOString() }),
    why,
    ...(host.reason !== undefined && { reason: host.reason }),
    sessions: host.sessions,
    connected: host.connected,
  };
}

function outcome(host: RolloutHost, planned: PlannedChannel, place: { group: string | undefined; canary: boolean }): Outcome {
  const { target, critical, chance, now, staged } = planned;
  if (host.version === target) return { verdict: "done", why: "it has the version" };
  const obstacle = findObstacle(host, target, staged?.state);
  if (obstacle !== undefined) return { verdict: "stays", why: obstacle };
  if (staged === undefined) return inWindow(chance(now), critical, "");
  const { state, spec, times } = staged;
  const hold = findHold(state, host, { spec, now });
  if (hold !== undefined && (state.paused !== undefined || state.stopped !== undefined)) return { verdict: "stays", why: hold };
  const { canaries, rest } = times.get(place.group ?? "") ?? {};
  return inWindow(place.canary ? canaries : rest, critical, hold ?? "");
}

function inWindow(at: number | undefined, critical: boolean, hold: string): Outcome {
  if (at === undefined) return { verdict: "stays", why: "there is no maintenance window: create a cluster_maintenance_config" };
  return { verdict: "goes", at, why: hold === "" ? (critical ? "at once: the version is critical" : "in its maintenance window") : hold };
}

function findObstacle(host: RolloutHost, target: string, state: RolloutState | undefined): string | undefined {
  const failure = state !== undefined && Object.hasOwn(state.failed, host.id) ? state.failed[host.id] : undefined;
  if (failure !== undefined) return failure.why;
  if (!host.enrolled) return "not enrolled: it has no updater";
  if (!host.connected) return `gone since ${new Date(host.since).toISOString()}: it takes the version when it is back`;
  return isLeftOut(host, target) && host.reason !== undefined ? `${host.reason}: ${upgradeReasons[host.reason]}` : undefined;
}

interface Facts {
  readonly spec: UpgradeRollout["spec"];
  readonly chance: NextChance;
  readonly now: number;
}

/** The earliest upgrade of each group: assuming that every host installs the version at its first chance and none fails. Pure. */
export function planTimes(state: RolloutState, { spec, chance: allowed, now }: Facts): ReadonlyMap<string, GroupTimes> {
  const chance = outsideFreezes(allowed, spec.freezes);
  const soakMs = parseDuration(spec.vanished_after) * 1000;
  const times = new Map<string, GroupTimes>();
  let free: number | undefined = now;
  for (const { name, canaries, wait } of spec.groups) {
    if (state.all || state.passed.includes(name)) {
      times.set(name, both(chance(now)));
      continue;
    }
    const isOn = state.group === name;
    const waited: number | undefined = isOn ? Math.max(now, state.until ?? now) : plus(free, parseDuration(wait) * 1000);
    const first: number | undefined = at(chance, waited);
    const followsCanaries = canaries > 0 && !(isOn && state.phase === "group");
    const rest: number | undefined = followsCanaries ? at(chance, plus(first, soakMs)) : first;
    times.set(name, { canaries: first, rest });
    free = rest;
  }
  return times;
}

/** Future freezes count as well as current ones. Returns the end of those in the way: none holds after its end. */
function outsideFreezes(chance: NextChance, freezes: readonly Freeze[]): NextChance {
  return (after) => {
    for (let time = chance(after); time !== undefined; ) {
      const frozen = freezeAt(freezes, time);
      if (frozen === undefined) return time;
      time = chance(frozen.until);
    }
    return undefined;
  };
}

function both(time: number | undefined): GroupTimes {
  return { canaries: time, rest: time };
}

function plus(time: number | undefined, ms: number): number | undefined {
  return time === undefined ? undefined : time + ms;
}

function at(chance: NextChance, time: number | undefined): number | undefined {
  return time === undefined ? undefined : chance(time);
}
