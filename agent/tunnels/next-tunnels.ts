import { createHash } from "node:crypto";
import { type ClusterProxy, maxAgentProxies } from "../../core/resources/proxy.ts";

/** A tunnel as the decision sees it. `leaving`: its proxy is stopping or gone from the list, or this agent is or has a successor. */
export interface TunnelFacts {
  readonly id: number;
  readonly state: "opening" | "up" | "leaving";
  readonly streams: number;
  /** The proxy may still open streams until then: the tunnel does not end before, ms of the same clock as `now`. */
  readonly keepUntil: number;
  /** Id of its proxy; until that is known, of the proxy for which it is opened. */
  readonly proxy: string;
}

/** A target to which a tunnel is wanted. */
export interface WantedTunnel {
  /** Id of a proxy; `anyProxy`: any that answers where this host joined. */
  readonly proxy: string;
  /** No attempt before this time (back-off), ms of the same clock as `now`. */
  readonly notBefore: number;
}

/** Target while this host has no list of proxies. */
export const anyProxy = "";

export interface NextTunnelsFacts {
  readonly wanted: readonly WantedTunnel[];
  readonly tunnels: readonly TunnelFacts[];
  readonly stopping: boolean;
  readonly now: number;
}

export interface NextTunnels {
  /** Proxies to which to open a tunnel now. */
  readonly open: readonly string[];
  /** Tunnels to end now. */
  readonly end: readonly number[];
  /** When to decide again, if nothing happens before. */
  readonly wakeAt?: number;
}

/** Pure: a tunnel to each wanted proxy. One that leaves is kept while it carries streams or may get one, and until another one is up. */
export function nextTunnels({ wanted, tunnels, stopping, now }: NextTunnelsFacts): NextTunnels {
  const idle = (one: TunnelFacts): boolean => one.streams === 0 && now >= one.keepUntil;
  if (stopping) return { open: [], end: tunnels.filter(idle).map(({ id }) => id) };
  const isUp = tunnels.some(({ state }) => state === "up");
  const end = tunnels.filter((one) => one.state === "leaving" && idle(one) && isUp).map(({ id }) => id);
  const staying = tunnels.filter(({ state }) => state !== "leaving");
  const has = (proxy: string): boolean => (proxy === anyProxy ? staying.length > 0 : staying.some((one) => one.proxy === proxy));
  const missing = wanted.filter(({ proxy }) => !has(proxy));
  const open = missing.filter(({ notBefore }) => now >= notBefore).map(({ proxy }) => proxy);
  const waiting = missing.filter(({ notBefore }) => now < notBefore).map(({ notBefore }) => notBefore);
  const leaving = tunnels.flatMap(({ state, keepUntil }) => (state === "leaving" && keepUntil > now ? [keepUntil] : []));
  const wakeAt = Math.min(...leaving, ...waiting);
  return { open, end, ...(Number.isFinite(wakeAt) && { wakeAt }) };
}

/**
 * The proxies to which this host keeps tunnels: all of them, up to the limit. Above it each host has its own order, which does not change
 * for the other proxies when one comes or goes, so that hosts spread evenly and stay where they are. Pure.
 */
export function chooseProxies(proxies: readonly ClusterProxy[], hostId: string, most = maxAgentProxies): readonly ClusterProxy[] {
  if (proxies.length <= most) return proxies;
  const rank = ({ id }: ClusterProxy): string => createHash("sha256").update(`${hostId} ${id}`).digest("hex");
  const ranked = proxies.map((proxy) => ({ proxy, rank: rank(proxy) })).sort((a, b) => (a.rank < b.rank ? -1 : 1));
  return ranked.slice(0, most).map(({ proxy }) => proxy);
}
