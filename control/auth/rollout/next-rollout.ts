import { parseDuration } from "../../../core/resources/duration.ts";
import { freezeAt, type UpgradeRollout } from "../../../core/resources/upgrade-rollout.ts";
import { compareVersions } from "../../../core/versions/compare-versions.ts";
import { advance } from "./advance.ts";
import { failedAt, type RolloutHost } from "./rollout-host.ts";
import type { Failure, RolloutState } from "./rollout-state.ts";

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

/** A host lost later than this after it installed the version, ms, was lost for another reason. */
const watchedMs = 3_600_000;
/** A host lost within this time after the instruction to install the version, ms, was lost during the upgrade: two ticks of the updater. */
const attemptMs = 20 * 60_000;

interface Look {
  readonly hosts: readonly RolloutHost[];
  /** Versions of the hosts at the previous check. */
  readonly before: ReadonlyMap<string, string>;
  readonly vanishedMs: number;
  readonly now: number;
}

/** Hosts that installed the version recently: adds those that changed to it since the previous check, drops old ones. Pure. */
function tookVersion(state: RolloutState, { hosts, before, vanishedMs, now }: Look): Record<string, number> {
  const oldest = now - watchedMs - vanishedMs;
  // Whether a lost host left soon after the upgrade may be decided much later: perhaps after this service was down.
  const away = new Set(hosts.flatMap(({ id, connected }) => (connected ? [] : [id])));
  const kept = Object.entries(state.took).filter(([id, at]) => at >= oldest || away.has(id) || Object.hasOwn(state.failed, id));
  const fresh = hosts.flatMap((host): [string, number][] => {
    const earlier = before.get(host.id);
    const changed = earlier !== undefined && earlier !== host.version && host.version === state.version;
    return changed && host.connected && !Object.hasOwn(state.took, host.id) ? [[host.id, now]] : [];
  });
  return Object.fromEntries([...kept, ...fresh]);
}

/** Hosts on which the version failed: the known ones, without those that are back at it, and those found now. Pure. */
function findFailures(state: RolloutState, { hosts, vanishedMs, now }: Look): Record<string, Failure> {
  const failed = new Map(Object.entries(state.failed));
  for (const host of hosts) {
    const known = failed.get(host.id);
    const why = failureOf(host, { state, vanishedMs, now });
    // The cause of a stop stays on record until the roll-out is resumed.
    if (why === undefined && known !== undefined && state.stopped === undefined && host.connected && host.version === state.version) {
      failed.delete(host.id);
    }
    if (why !== undefined && known === undefined) failed.set(host.id, { hostname: host.hostname, why, at: now, forgiven: false });
  }
  return Object.fromEntries(failed);
}

function failureOf(host: RolloutHost, { state, vanishedMs, now }: { state: RolloutState; vanishedMs: number; now: number }): string | undefined {
  const { version, took } = state;
  if (failedAt(host, version)) {
    if (host.reason === "rollback_failed") return `v${version} is not healthy, and the version before could not be installed again`;
    return `rolled back from v${version}`;
  }
  if (host.connected || now - host.since < vanishedMs) return undefined;
  const tookAt = Object.hasOwn(took, host.id) ? took[host.id] : undefined;
  if (tookAt !== undefined && host.since - tookAt < watchedMs) return `gone since ${time(host.since)}, after it took v${version}`;
  const { offered } = host;
  const attempted = offered !== undefined && offered >= state.started && host.version !== version;
  if (attempted && host.since >= offered && host.since - offered < attemptMs) {
    return `gone since ${time(host.since)}, right after the instruction to install v${version}`;
  }
  return undefined;
}

function time(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
