import { failedAt, type RolloutHost } from "./rollout-host.ts";
import type { Failure, RolloutState } from "./rollout-state.ts";

/** A host lost later than this after it installed the version, ms, was lost for another reason. */
export const watchedMs = 3_600_000;
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
export function tookVersion(state: RolloutState, { hosts, before, vanishedMs, now }: Look): Record<string, number> {
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
export function findFailures(state: RolloutState, { hosts, vanishedMs, now }: Look): Record<string, Failure> {
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
