import type { UpgradeRollout } from "../../../core/resources/upgrade-rollout.ts";
import { findHold } from "./find-hold.ts";
import type { RolloutHost } from "./rollout-host.ts";
import type { RolloutState } from "./rollout-state.ts";
import { withoutV } from "./to-rollout-host.ts";

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
