import type { UpgradeChannel } from "../../../core/config/upgrade-channels.ts";
import type { ChannelAnswer } from "../inventory/live-channels.ts";

export interface DoubtFacts {
  readonly channel: string;
  /** What the asking proxy's channel answers. */
  readonly asked: Pick<ChannelAnswer, "version" | "critical">;
  /** What the other proxies answer, by their last reports. */
  readonly others: readonly Pick<ChannelAnswer, "version" | "critical">[];
  /** The auth service's own configuration of the channel; undefined: it has none. */
  readonly own: UpgradeChannel | undefined;
}

/**
 * Why the auth service does not vouch for what a proxy's channel answers; undefined: it does, and signs. One proxy alone orders no version:
 * the others have to say the same, and so has the auth service's own configuration, where it has one. Pure.
 */
export function findDoubt({ channel, asked, others, own }: DoubtFacts): string | undefined {
  if (asked.version === "none" || asked.version === "") return undefined;
  const said = told(asked);
  if (own !== undefined && "staticVersion" in own && (own.staticVersion !== asked.version || (asked.critical && !own.critical)))
    return `channel ${channel} of a proxy answers ${said}, and the auth service's own configuration says ${told({ ...own, version: own.staticVersion })}`;
  if (own !== undefined && own.critical === false && asked.critical)
    return `channel ${channel} of a proxy answers ${said}, and the auth service's own configuration says that none is critical`;
  const other = others.map(told).find((answer) => answer !== said);
  return other === undefined ? undefined : `proxies disagree about channel ${channel}, which answers ${[said, other].toSorted().join(" and ")}`;
}

function told({ version, critical }: Pick<ChannelAnswer, "version" | "critical">): string {
  return `${version}${critical ? ", critical" : ""}`;
}
