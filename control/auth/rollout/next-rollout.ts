import { parseDuration } from "../../../core/resources/duration.ts";
import { freezeAt, type UpgradeRollout } from "../../../core/resources/upgrade-rollout.ts";
import { compareVersions } from "../../../core/versions/compare-versions.ts";
import { advance } from "./advance.ts";
import { findFailures, tookVersion } from "./find-failures.ts";
import type { RolloutHost } from "./rollout-host.ts";
import type { RolloutState } from "./rollout-state.ts";

export interface RolloutFacts {
  readonly channel: string;
  /** The channel's version, without v. */
  readonly target: string;
  readonly critical: boolean;
  readonly spec: UpgradeRollout["spec"];
  /** Hosts of this channel. */
  readonly hosts: readonly RolloutHost[];
  /** Version of each host at the previous check. */
  readonly before: ReadonlyMap<string, string>;
  readonly now: number;
}

export type RolloutEvent = { readonly event: "started" | "stopped" | "done"; readonly why?: string };

export interface RolloutStep {
  readonly state: RolloutState;
  readonly events: readonly RolloutEvent[];
}

/**
 * The state of a channel's roll-out after a check of its hosts. Pure and idempotent: the same facts change nothing.
 * In order: another target starts again; failures may stop it; a stop, a pause and a freeze prevent any advance; a critical or
 * lower version is for all groups at once; else groups follow each other, canaries first.
 */
export function nextRollout(last: RolloutState | undefined, facts: RolloutFacts): RolloutStep {
  const { spec, now, critical } = facts;
  const isNew = last === undefined || last.version !== facts.target;
  const begun = isNew ? begin(last, facts) : last;
  const look = { ...facts, vanishedMs: parseDuration(spec.vanished_after) * 1000 };
  const watched = { ...begun, took: tookVersion(begun, look) };
  const judged = judge({ ...watched, failed: findFailures(watched, look) }, facts);
  const events: RolloutEvent[] = isNew ? [{ event: "started" }] : [];
  if (judged.stopped !== undefined && begun.stopped === undefined) events.push({ event: "stopped", why: judged.stopped.why });
  if (judged.stopped !== undefined || judged.paused !== undefined || freezeAt(spec.freezes, now) !== undefined) return { state: judged, events };
  const state = advance(critical ? { ...judged, all: true } : judged, look);
  if (state.phase === "done" && begun.phase !== "done") events.push({ event: "done" });
  return { state, events };
}

/** A pause is an admin's decision for the channel: it outlives the version. A stop concerns the version and does not. */
function begin(last: RolloutState | undefined, { channel, target, now }: RolloutFacts): RolloutState {
  const back = last !== undefined && compareVersions(target, last.version) < 0;
  return {
    channel,
    version: target,
    back,
    started: now,
    passed: [],
    group: "",
    phase: "group",
    since: now,
    all: back,
    canaries: [],
    took: {},
    failed: {},
    ...(last?.paused !== undefined && { paused: last.paused }),
  };
}

/** Stops after too many failures; a roll-back is not stopped by them, since there is no better version to stay at. */
function judge(state: RolloutState, { spec, now }: RolloutFacts): RolloutState {
  if (state.stopped !== undefined || state.back) return state;
  const counted = Object.values(state.failed).filter(({ forgiven }) => !forgiven);
  if (counted.length < spec.stop_after.failed) return state;
  const some = counted.slice(0, 3).map(({ hostname, why }) => `${hostname} ${why}`);
  const more = counted.length > some.length ? `; and ${counted.length - some.length} more` : "";
  return { ...state, stopped: { since: now, why: some.join("; ") + more } };
}
