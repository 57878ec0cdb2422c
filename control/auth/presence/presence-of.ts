import type { LiveNode } from "../inventory/live-nodes.ts";

/**
 * `away`: without a tunnel, but not long enough to count as gone. `stopped`: its agent announced its stop.
 * `unknown`: no report since this service started.
 */
export type Presence = "connected" | "away" | "gone" | "stopped" | "unknown";

/**
 * Time without a tunnel after which a host counts as gone, ms. An agent that reloads or changes its network comes back within
 * seconds; the proxy waits 20 s before it reports one as silent; agents of a lost proxy need a while to find the next one.
 * Each is short enough that an alert names the host within 30 s of the loss.
 */
const graceMs = { silent: 0, closed: 15_000, lost: 25_000 } as const;
/** The same after a start, ms. */
export const settleMs = 60_000;

/** The presence of a host. Pure. `recorded` was stored across a restart; times in ms. */
export function presenceOf(live: LiveNode | undefined, facts: { recorded: "gone" | "stopped" | undefined; started: number; now: number }): Presence {
  const { recorded, started, now } = facts;
  if (live === undefined) return recorded ?? (now - started >= settleMs ? "gone" : "unknown");
  if (live.connected) return "connected";
  const { ending = "closed" } = live;
  if (ending === "stopped") return "stopped";
  return now - live.since.getTime() >= graceMs[ending] ? "gone" : "away";
}
