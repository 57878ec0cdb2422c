import type { ChannelTrouble } from "../../../core/resources/channel-trouble.ts";
import type { PlannedChannel } from "./plan-channels.ts";
import type { Upstream } from "./upstream.ts";

interface TroubleFacts {
  readonly channels: ReadonlyMap<string, PlannedChannel>;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  /** Why the channel serves none although it has a version; undefined: it serves its version. */
  readonly beyond: (channel: string) => string | undefined;
}

/** Warnings about the channels for an admin: versions that are not served, version servers that fail. At most one per channel. */
export function channelTroubles({ channels, upstreams, beyond }: TroubleFacts): readonly ChannelTrouble[] {
  // A channel that stands in for another one has the same problem.
  const seen = new Set<PlannedChannel>();
  const each = [...channels].filter(([, planned]) => !seen.has(planned) && seen.add(planned));
  return each.flatMap(([channel, planned]): readonly ChannelTrouble[] => {
    const why = beyond(channel);
    if (why !== undefined) return [{ channel, kind: "beyond_major", text: why }];
    const upstream = planned !== "own" && "forwardUrl" in planned ? upstreams.get(planned.forwardUrl) : undefined;
    if (upstream?.failure === undefined) return [];
    const { good } = upstream;
    const last = upstream.read() === undefined || good === undefined ? "nothing is served" : `${good.version} of ${time(good.at)} is served`;
    return [{ channel, kind: "upstream_failed", text: `forwards to ${upstream.url}, which fails (${upstream.failure.message}): ${last}` }];
  });
}

function time(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
