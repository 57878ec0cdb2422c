import { parseDuration } from "../../../core/resources/duration.ts";
import { freezeAt, type UpgradeRollout } from "../../../core/resources/upgrade-rollout.ts";
import type { RolloutState } from "./rollout-state.ts";

/** The first moment from `after` on, ms, at which a host may upgrade; undefined: there is none in sight. */
export type NextChance = (after: number) => number | undefined;

/** The earliest that the canaries of a group may begin, and the rest of it; left out: nobody can say. */
export interface GroupTimes {
  readonly canaries?: number | undefined;
  readonly rest?: number | undefined;
}

interface Facts {
  readonly spec: UpgradeRollout["spec"];
  readonly chance: NextChance;
  readonly now: number;
}

/** When each group goes at the earliest: as if every host took the version at its first chance and none failed. Pure. */
export function planTimes(state: RolloutState, { spec, chance, now }: Facts): ReadonlyMap<string, GroupTimes> {
  const base = Math.max(now, freezeAt(spec.freezes, now)?.until ?? now);
  const soakMs = parseDuration(spec.vanished_after) * 1000;
  const times = new Map<string, GroupTimes>();
  let free: number | undefined = base;
  for (const { name, canaries, wait } of spec.groups) {
    if (state.all || state.passed.includes(name)) {
      times.set(name, both(chance(base)));
      continue;
    }
    const isOn = state.group === name;
    const waited: number | undefined = isOn ? Math.max(base, state.until ?? base) : plus(free, parseDuration(wait) * 1000);
    const first: number | undefined = at(chance, waited);
    const followsCanaries = canaries > 0 && !(isOn && state.phase === "group");
    const rest: number | undefined = followsCanaries ? at(chance, plus(first, soakMs)) : first;
    times.set(name, { canaries: first, rest });
    free = rest;
  }
  return times;
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
