import { freezeAt, type UpgradeRollout } from "../../../core/resources/upgrade-rollout.ts";
import { groupOf, type RolloutHost, withoutV } from "./rollout-host.ts";
import type { RolloutState } from "./rollout-state.ts";

export interface TargetFacts {
  readonly channel: string;
  readonly hostId: string;
  /** The answer of the requesting proxy's channel: `v1.2.3` or `none`. */
  readonly version: string;
  readonly critical: boolean;
  /** Left out: unknown to the inventory. */
  readonly host: RolloutHost | undefined;
  readonly spec: UpgradeRollout["spec"] | undefined;
  readonly state: RolloutState | undefined;
  /** The proxies' answers for the channel, by their last reports. */
  readonly channelVersions: readonly string[];
  readonly now: number;
}

export interface TargetAnswer {
  /** `v1.2.3`; empty: the host keeps its version. */
  readonly version: string;
  readonly critical: boolean;
  /** Why it differs from the channel's; empty: it does not. */
  readonly held: string;
}

/** Maximum number of versions reported to a host that is held because proxies disagree. */
const maxVersions = 3;

/** The version that a host should have now. Pure. Unknown facts hold it back: no host gets a version by accident. */
export function findTarget({ channel, hostId, version, critical, host, spec, state, channelVersions, now }: TargetFacts): TargetAnswer {
  if (spec === undefined || version === "none" || version === "") return { version, critical, held: "" };
  const target = withoutV(version);
  if (host?.version === target) return { version, critical, held: "" };
  const hold = (why: string): TargetAnswer => ({ version: "", critical: false, held: `held by the roll-out: ${why}` });
  const [answered, ...others] = channelVersions;
  if (answered === undefined) return hold(`no proxy has reported an answer of channel ${channel} yet`);
  if (others.length > 0)
    return hold(`proxies disagree about channel ${channel}, which answers ${channelVersions.slice(0, maxVersions).join(" and ")}`);
  if (withoutV(answered) !== target) return hold(`channel ${channel} answers ${answered} at another proxy`);
  if (state?.version !== target) return hold(`the roll-out of v${target} has not started yet`);
  const why = findHold(state, host ?? { id: hostId, labels: {} }, { spec, now });
  if (why === undefined) return { version, critical, held: "" };
  // Any client may ask for an invented id: the reasons name groups, people and hosts.
  return hold(host === undefined ? `the roll-out of v${target} has not reached this host, which is unknown to the inventory` : why);
}

/** Maximum length of a sentence: it travels in an HTTP header. */
const maxSentence = 300;

/**
 * Why a host may not install the version now, as the end of a sentence; undefined: it may. Pure. An unknown host counts
 * as one without a group.
 */
export function findHold(
  state: RolloutState,
  host: Pick<RolloutHost, "id" | "labels">,
  { spec, now }: { spec: UpgradeRollout["spec"]; now: number },
): string | undefined {
  const frozen = freezeAt(spec.freezes, now);
  if (frozen !== undefined) return sentence(`frozen until ${time(frozen.until)}${frozen.reason === undefined ? "" : ` (${frozen.reason})`}`);
  const what = `the roll-out of v${state.version}`;
  if (state.paused !== undefined) return sentence(`${what} has been paused since ${time(state.paused.since)} by ${state.paused.by}`);
  if (state.stopped !== undefined) return sentence(`${what} was stopped at ${time(state.stopped.since)}: ${state.stopped.why}`);
  const group = groupOf(spec.groups, host.labels)?.name ?? "";
  if (state.all || state.passed.includes(group)) return undefined;
  const { phase, since } = state;
  const until = time(state.until ?? since);
  const standing = phase === "waiting" ? `which waits until ${until}` : `which has been in progress since ${time(since)}`;
  if (state.group !== group) return sentence(`group ${group} comes after ${state.group}, ${standing}`);
  if (phase === "waiting") return sentence(`group ${group} waits until ${until}`);
  if (phase !== "canaries" || state.canaries.includes(host.id)) return undefined;
  return sentence(`the canaries of group ${group} go first, since ${time(since)}`);
}

function time(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** It may contain text from an admin or a host: only characters that a header allows are kept. */
function sentence(text: string): string {
  const plain = text.replace(/[^\x20-\x7e]+/g, "?");
  return plain.length <= maxSentence ? plain : `${plain.slice(0, maxSentence - 3)}...`;
}
