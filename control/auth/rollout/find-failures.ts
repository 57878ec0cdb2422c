import { failedAt, type RolloutHost } from "./rollout-host.ts";
import type { Failure, RolloutState } from "./rollout-state.ts";

/** A host that goes away later than this after it took the version, ms, went for a reason of its own. */
export const watchedMs = 3_600_000;
/** A host that was told to take the version and goes away within this time, ms, went in the middle of it: two ticks of the updater. */
const attemptMs = 20 * 60_000;

interface Look {
  readonly hosts: readonly RolloutHost[];
  /** Versions of the hosts at the look before. */
  readonly before: ReadonlyMap<string, string>;
  readonly vanishedMs: number;
  readonly now: number;
}

/** Who took the version lately: those who changed to it since the look before are added, what is long past is dropped. Pure. */
export function tookVersion(state: RolloutState, { hosts, before, vanishedMs, now }: Look): Record<string, number> {
  const oldest = now - watchedMs - vanishedMs;
  // Whether one that is away left soon after is asked when it has been away for long: perhaps after this service was down.
  const away = new Set(hosts.flatMap(({ id, connected }) => (connected ? [] : [id])));
  const kept = Object.entries(state.took).filter(([id, at]) => at >= oldest || away.has(id) || Object.hasOwn(state.failed, id));
  const fresh = hosts.flatMap((host): [string, number][] => {
    const earlier = before.get(host.id);
    const changed = earlier !== undefined && earlier !== host.version && host.version === state.version;
    return changed && host.connected && !Object.hasOwn(state.took, host.id) ? [[host.id, now]] : [];
  });
  return Object.fromEntries([...kept, ...fresh]);
}

/** Hosts on which the version failed: those known, without those that came back to it, and those found now. Pure. */
export function findFailures(state: RolloutState, { hosts, vanishedMs, now }: Look): Record<string, Failure> {
  const failed = new Map(Object.entries(state.failed));
  for (const host of hosts) {
    const known = failed.get(host.id);
    const why = failureOf(host, { state, vanishedMs, now });
    // What stopped the roll-out stays on record until somebody resumes.
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
    return `gone since ${time(host.since)}, right after it was told to take v${version}`;
  }
  return undefined;
}

function time(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
