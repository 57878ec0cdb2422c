import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UpgradeRollout } from "../../../core/resources/upgrade-rollout.ts";
import type { RolloutState } from "./rollout-state.ts";

export const rolloutActions = ["pause", "resume", "promote"] as const;
export type RolloutAction = (typeof rolloutActions)[number];

/** The audit event of an action, and whether it names the group. */
export const auditOf = {
  pause: ["rollout.paused", false],
  resume: ["rollout.resumed", false],
  promote: ["rollout.promoted", true],
} as const;

interface Change {
  readonly action: RolloutAction;
  /** For promote: the last group to release; empty: the next step. */
  readonly group: string;
  readonly by: string;
  readonly spec: UpgradeRollout["spec"];
  readonly now: number;
}

/**
 * Applies an admin's action to a roll-out. Pure; the next check continues from there. Throws `conflict` when it does not apply now, `invalid` for
 * an unknown group.
 */
export function changeRollout(state: RolloutState, change: Change): RolloutState {
  if (change.action === "pause") return pause(state, change);
  return change.action === "resume" ? resume(state) : promote(state, change);
}

/** Skips channels to which the change does not apply, unless there is no other. */
export function changeRollouts(states: readonly RolloutState[], change: Change): readonly RolloutState[] {
  const refused: PlatformError[] = [];
  const changed = states.flatMap((state) => {
    try {
      return [changeRollout(state, change)];
    } catch (thrown) {
      if (!(thrown instanceof PlatformError)) throw thrown;
      refused.push(thrown);
      return [];
    }
  });
  if (changed.length === 0 && refused[0] !== undefined) throw refused[0];
  return changed;
}

function pause(state: RolloutState, { by, now }: Change): RolloutState {
  if (state.paused !== undefined) throw new PlatformError("conflict", `${name(state)} is already paused by ${state.paused.by}`);
  return { ...state, paused: { since: now, by } };
}

/** After a stop: the hosts that failed stay on record, and counting starts again. */
function resume(state: RolloutState): RolloutState {
  const { paused, stopped, ...rest } = state;
  if (paused === undefined && stopped === undefined) throw new PlatformError("conflict", `${name(state)} is neither paused nor stopped`);
  const failed = Object.fromEntries(Object.entries(state.failed).map(([id, failure]) => [id, { ...failure, forgiven: true }]));
  return { ...rest, failed: stopped === undefined ? state.failed : failed };
}

function promote(state: RolloutState, { group, spec, now }: Change): RolloutState {
  if (state.paused !== undefined || state.stopped !== undefined) {
    const held = state.stopped === undefined ? "paused" : "stopped";
    throw new PlatformError("conflict", `${name(state)} is ${held}: it cannot be promoted`, { hint: "continue with: tctl upgrades resume" });
  }
  if (state.all || state.phase === "done") throw new PlatformError("conflict", `${name(state)} has reached every group`);
  return group === "" ? step(state, spec, now) : through(state, { group, spec, now });
}

/** Ends the wait, lets the whole group follow its canaries, or lets the next group start without its wait. */
function step(state: RolloutState, spec: UpgradeRollout["spec"], now: number): RolloutState {
  const { until: _until, ...rest } = state;
  if (state.phase === "waiting") return { ...rest, phase: "canaries", canaries: [], since: now };
  if (state.phase === "canaries") return { ...rest, phase: "group", since: now };
  const passed = [...state.passed, state.group];
  const next = spec.groups.find(({ name: one }) => !passed.includes(one));
  if (next === undefined) throw new PlatformError("conflict", `${name(state)} has reached every group`);
  return { ...rest, passed, group: next.name, phase: "canaries", canaries: [], since: now };
}

/** Releases the version to the groups before it and to this whole group. */
function through(state: RolloutState, { group, spec, now }: Pick<Change, "group" | "spec" | "now">): RolloutState {
  const names = spec.groups.map(({ name: one }) => one);
  const at = names.indexOf(group);
  if (at < 0) throw new PlatformError("invalid", `there is no group ${JSON.stringify(group)}`, { hint: `groups: ${names.join(", ")}` });
  if (state.passed.includes(group)) throw new PlatformError("conflict", `group ${group} may already install v${state.version}`);
  const { until: _until, ...rest } = state;
  const passed = [...new Set([...state.passed, ...names.slice(0, at)])];
  return { ...rest, passed, group, phase: "group", canaries: [], since: now };
}

function name({ version, channel }: RolloutState): string {
  return `the roll-out of v${version} on channel ${channel}`;
}
