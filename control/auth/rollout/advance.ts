import { parseDuration } from "../../../core/resources/duration.ts";
import type { RolloutGroup } from "../../../core/resources/upgrade-rollout.ts";
import { groupOf, isHindered, isLeftOut, type RolloutHost } from "./rollout-host.ts";
import type { RolloutState } from "./rollout-state.ts";

/** Maximum time that a host which is ready but cannot install the version delays its group, ms. */
export const hinderedMs = 24 * 3_600_000;

interface Look {
  readonly spec: { readonly groups: readonly RolloutGroup[] };
  readonly hosts: readonly RolloutHost[];
  readonly vanishedMs: number;
  readonly now: number;
}

/** Advances a roll-out that is not stopped, paused or frozen as far as its hosts allow. Pure. */
export function advance(state: RolloutState, look: Look): RolloutState {
  if (state.all) return advanceAll(state, look);
  const members = membersOf(look);
  let current = state;
  for (const group of look.spec.groups) {
    if (current.passed.includes(group.name)) continue;
    const entered = current.group === group.name ? current : enter(current, group, look.now);
    const moved = within(entered, group, { ...look, hosts: members.get(group.name) ?? [] });
    if (moved.phase !== "done") return moved;
    current = { ...moved, passed: [...moved.passed, group.name] };
  }
  return current.phase === "done" && current.group === "" ? current : { ...outside(current, look.now), phase: "done" };
}

/** Every host may install it: done when every host that can has it. */
function advanceAll(state: RolloutState, look: Look): RolloutState {
  const names = look.spec.groups.map(({ name }) => name);
  const passed = names.every((name) => state.passed.includes(name)) ? state.passed : names;
  const open = state.group === "" && state.phase !== "waiting" ? state : outside(state, look.now);
  const phase = state.phase === "done" || isComplete({ ...open, passed }, look) ? "done" : "group";
  const since = phase === open.phase ? open.since : look.now;
  return { ...open, passed, phase, since };
}

function membersOf({ spec, hosts }: Look): ReadonlyMap<string, readonly RolloutHost[]> {
  return Map.groupBy(hosts, ({ labels }) => groupOf(spec.groups, labels)?.name ?? "");
}

/** In no group. */
function outside({ until: _until, ...state }: RolloutState, now: number): RolloutState {
  return { ...state, group: "", phase: "group", canaries: [], since: now };
}

function enter(state: RolloutState, group: RolloutGroup, now: number): RolloutState {
  return { ...outside(state, now), group: group.name, phase: "waiting", until: now + parseDuration(group.wait) * 1000 };
}

/** Advances one group as far as possible; its phase is `done` when the next one may start. */
function within(state: RolloutState, group: RolloutGroup, look: Look): RolloutState {
  // `done` applies to the whole; an active group is not done.
  let current: RolloutState = state.phase === "done" ? { ...state, phase: "group" } : state;
  if (current.phase === "waiting") {
    if (look.now < (current.until ?? 0)) return current;
    const { until: _until, ...rest } = current;
    current = { ...rest, phase: "canaries", since: look.now };
  }
  if (current.phase === "canaries") {
    current = { ...current, canaries: chooseCanaries(current, group, look) };
    const settled = group.canaries > 0 && current.canaries.length === 0 ? isComplete(current, look) : areSettled(current, look);
    if (!settled) return current;
    current = { ...current, phase: "group", since: look.now };
  }
  return isComplete(current, look) ? { ...current, phase: "done" } : current;
}

/** Chosen canaries stay while they are able; others replace those that are not: connected and healthy ones first, then by id. */
function chooseCanaries(state: RolloutState, group: RolloutGroup, { hosts, vanishedMs, now }: Look): string[] {
  const byId = new Map(hosts.map((host) => [host.id, host]));
  const able = (host: RolloutHost): boolean => !isLeftOut(host, state.version) && !Object.hasOwn(state.failed, host.id);
  const kept = state.canaries.filter((id) => {
    const host = byId.get(id);
    if (host === undefined || !able(host) || (isHindered(host) && now - state.since >= hinderedMs)) return false;
    return host.connected || Object.hasOwn(state.took, id) || now - host.since < vanishedMs;
  });
  const fresh = hosts.filter((host) => able(host) && host.connected && host.version !== state.version && !kept.includes(host.id));
  const rank = (host: RolloutHost): number => (isHindered(host) ? 1 : 0);
  fresh.sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1));
  return [...kept, ...fresh.slice(0, Math.max(0, group.canaries - kept.length)).map(({ id }) => id)].slice(0, group.canaries);
}

/**
 * Whether each canary has the version, and stayed connected for as long as it takes to notice a loss: since it installed it, or since it was
 * first seen with it.
 */
function areSettled(state: RolloutState, { hosts, vanishedMs, now }: Look): boolean {
  const byId = new Map(hosts.map((host) => [host.id, host]));
  return state.canaries.every((id) => {
    const host = byId.get(id);
    if (host?.connected !== true || host.version !== state.version) return false;
    const tookAt = Object.hasOwn(state.took, id) ? state.took[id] : undefined;
    return now - (tookAt ?? host.since) >= vanishedMs;
  });
}

/**
 * Whether every host that can install the version has it. Hosts that are gone for long do not count; but when none of those that should
 * have it does, a proxy may be gone rather than the hosts: then it is unknown whether the version works.
 */
function isComplete(state: RolloutState, { hosts, vanishedMs, now }: Look): boolean {
  const wanted = hosts.filter((host) => !isLeftOut(host, state.version) && !Object.hasOwn(state.failed, host.id));
  if (wanted.length === 0) return true;
  if (!wanted.some((host) => host.connected && host.version === state.version)) return false;
  return wanted.every((host) => {
    if (host.connected && host.version === state.version) return true;
    if (!host.connected) return now - host.since >= vanishedMs;
    return isHindered(host) && now - state.since >= hinderedMs;
  });
}
