import type { HostPlan } from "../../../core/resources/upgrade-plan.ts";
import type { UpgradeRollout } from "../../../core/resources/upgrade-rollout.ts";
import { upgradeReasons } from "../../../core/versions/upgrade-reason.ts";
import { findHold } from "./find-hold.ts";
import { groupOf } from "./group-of.ts";
import type { GroupTimes, NextChance } from "./plan-times.ts";
import { isLeftOut, type RolloutHost } from "./rollout-host.ts";
import type { RolloutState } from "./rollout-state.ts";

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
