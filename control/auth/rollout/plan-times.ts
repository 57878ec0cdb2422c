import { parseDuration } from "../../../core/resources/duration.ts";
import { type Freeze, freezeAt, type UpgradeRollout } from "../../../core/resources/upgrade-rollout.ts";
import type { RolloutState } from "./rollout-state.ts";

/** The first moment from `after` on, ms, at which a host may upgrade; undefined: none is foreseeable. */
export type NextChance = (after: number) => number | undefined;

/** The earliest start of a group's canaries, and of the rest; left out: unknown. */
export interface GroupTimes {
  readonly canaries?: number | undefined;
  readonly rest?: number | undefined;
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
