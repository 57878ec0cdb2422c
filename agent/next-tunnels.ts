/** A tunnel as the decision sees it. `leaving`: its proxy is stopping, or this agent is. */
export interface TunnelFacts {
  readonly id: number;
  readonly state: "opening" | "up" | "leaving";
  readonly streams: number;
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

/** Pure: a tunnel that leaves is kept while it carries streams, and until another one is up. */
export function nextTunnels({ wanted, tunnels, stopping, notBefore, now }: NextTunnelsFacts): NextTunnels {
  const idle = (one: TunnelFacts): boolean => one.streams === 0;
  if (stopping) return { open: 0, end: tunnels.filter(idle).map(({ id }) => id) };
  const isUp = tunnels.some(({ state }) => state === "up");
  const end = tunnels.filter((one) => one.state === "leaving" && idle(one) && isUp).map(({ id }) => id);
  const missing = Math.max(0, wanted - tunnels.filter(({ state }) => state !== "leaving").length);
  if (missing === 0) return { open: 0, end };
  return now >= notBefore ? { open: missing, end } : { open: 0, end, wakeAt: notBefore };
}
