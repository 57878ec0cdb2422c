/** A tunnel as the decision sees it. `leaving`: its proxy is stopping, or this agent is or has a successor. */
export interface TunnelFacts {
  readonly id: number;
  readonly state: "opening" | "up" | "leaving";
  readonly streams: number;
  /** The proxy may still open streams until then: it does not end before, ms of the same clock as `now`. */
  readonly keepUntil: number;
}

export interface NextTunnelsFacts {
  /** How many tunnels that take streams there should be. */
  readonly wanted: number;
  readonly tunnels: readonly TunnelFacts[];
  readonly stopping: boolean;
  /** No new one before this time (back-off), ms of the same clock as `now`. */
  readonly notBefore: number;
  readonly now: number;
}

export interface NextTunnels {
  /** How many to open now. */
  readonly open: number;
  /** Which to end now. */
  readonly end: readonly number[];
  /** When to decide again, if nothing happens before. */
  readonly wakeAt?: number;
}

/** Pure: a tunnel that leaves is kept while it carries streams or may get one, and until another one is up. */
export function nextTunnels({ wanted, tunnels, stopping, notBefore, now }: NextTunnelsFacts): NextTunnels {
  const idle = (one: TunnelFacts): boolean => one.streams === 0 && now >= one.keepUntil;
  if (stopping) return { open: 0, end: tunnels.filter(idle).map(({ id }) => id) };
  const isUp = tunnels.some(({ state }) => state === "up");
  const end = tunnels.filter((one) => one.state === "leaving" && idle(one) && isUp).map(({ id }) => id);
  const missing = Math.max(0, wanted - tunnels.filter(({ state }) => state !== "leaving").length);
  const isWaiting = missing > 0 && now < notBefore;
  const times = tunnels.flatMap(({ state, keepUntil }) => (state === "leaving" && keepUntil > now ? [keepUntil] : []));
  const wakeAt = Math.min(...times, isWaiting ? notBefore : Number.POSITIVE_INFINITY);
  return { open: isWaiting ? 0 : missing, end, ...(Number.isFinite(wakeAt) && { wakeAt }) };
}
