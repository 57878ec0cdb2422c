import type { UpgradeChannel } from "../../../core/config/upgrade-channels.ts";
import type { ChannelAnswer } from "../../../core/resources/channel-report.ts";
import type { AuthContext } from "../auth-context.ts";
import type { TargetAnswer } from "./find-target.ts";
import type { TargetsAsk } from "./rollouts.ts";

type Vouching = Pick<AuthContext, "rollouts" | "channels" | "authorities" | "upgradeChannels" | "now">;

type VouchedTarget = TargetAnswer & { readonly signed: string };

/** The version that each of these hosts should have now, signed, in their order; no host gets an answer that the auth service does not vouch for. */
export function vouchFor(
  { rollouts, channels, authorities, upgradeChannels, now }: Vouching,
  ask: TargetsAsk,
  proxy: string,
): readonly VouchedTarget[] {
  const { channel, hostIds, version, critical } = ask;
  const others = channels.answersOfOthers(proxy, channel);
  const doubt = findDoubt({ channel, asked: { version, critical }, others, own: upgradeChannels[channel] });
  return rollouts.targets(ask).map((target, index) => {
    if (target.version === "" || target.version === "none") return { ...target, signed: "" };
    if (doubt !== undefined) return { version: "", critical: false, held: doubt, signed: "" };
    const host = hostIds[index] ?? "";
    return { ...target, signed: authorities.signUpgrade({ host, channel, version: target.version, critical: target.critical }, now()) };
  });
}

export interface DoubtFacts {
  readonly channel: string;
  /** The answer of the requesting proxy's channel. */
  readonly asked: Pick<ChannelAnswer, "version" | "critical">;
  /** The answers of the other proxies, by their last reports. */
  readonly others: readonly Pick<ChannelAnswer, "version" | "critical">[];
  /** The auth service's own configuration of the channel; undefined: none. */
  readonly own: UpgradeChannel | undefined;
}

/**
 * The reason why the auth service does not sign the answer of a proxy's channel; undefined: it signs. A single proxy cannot order a version:
 * the others must agree, and so must the auth service's own configuration, if it has one. Pure.
 */
export function findDoubt({ channel, asked, others, own }: DoubtFacts): string | undefined {
  if (asked.version === "none" || asked.version === "") return undefined;
  const said = describe(asked);
  if (own !== undefined && "staticVersion" in own && (own.staticVersion !== asked.version || (asked.critical && !own.critical))) {
    const configured = describe({ ...own, version: own.staticVersion });
    return `channel ${channel} of a proxy answers ${said}, but the auth service's own configuration says ${configured}`;
  }
  if (own !== undefined && own.critical === false && asked.critical)
    return `channel ${channel} of a proxy answers ${said}, but the auth service's own configuration says that none is critical`;
  const other = others.map(describe).find((answer) => answer !== said);
  return other === undefined ? undefined : `proxies disagree about channel ${channel}, which answers ${[said, other].toSorted().join(" and ")}`;
}

function describe({ version, critical }: Pick<ChannelAnswer, "version" | "critical">): string {
  return `${version}${critical ? ", critical" : ""}`;
}
