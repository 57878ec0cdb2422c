import { deadMs, heartbeatMs } from "../core/transport/tunnel-message.ts";

/** Interval between checks of a tunnel, ms. */
export const lookMs = 5_000;
/** Time for the peer to answer after a clock jump, ms. */
const probeMs = 10_000;
/** Silence that ends a tunnel, ms: one check less than the limit for a dead peer, so that the end comes within it. */
const silenceMs = deadMs - lookMs;
/** Maximum drift of wall clock against monotonic clock, ms; a larger one means that the machine slept or the clock was set. */
const jumpMs = 5_000;

/** Times in ms: `wall` can jump, `steady` is monotonic and stands still while the machine sleeps. */
export interface HeartbeatState {
  readonly wall: number;
  readonly steady: number;
  /** When the peer was last heard from, and last pinged; steady. */
  readonly heard: number;
  readonly asked: number;
  /** Since when an immediate answer is expected; steady. */
  readonly probing?: number | undefined;
}

export type HeartbeatAct = "nothing" | "ping" | "dead";

/** State of a tunnel that has just come up. */
export function firstHeartbeat(now: { wall: number; steady: number }): HeartbeatState {
  return { ...now, heard: now.steady, asked: now.steady };
}

/** What to do at this check, and the state for the next one. Pure. */
export function heartbeat(
  last: HeartbeatState,
  now: { readonly wall: number; readonly steady: number; readonly heard: number },
): { act: HeartbeatAct; state: HeartbeatState } {
  const jumped = Math.abs(now.wall - last.wall - (now.steady - last.steady)) > jumpMs || now.steady - last.steady > 3 * lookMs;
  const answered = last.probing !== undefined && now.heard > last.probing;
  const probing = jumped ? now.steady : answered ? undefined : last.probing;
  const isLate = probing !== undefined && !jumped && now.steady - probing >= probeMs;
  const isSilent = probing === undefined && now.steady - now.heard >= silenceMs;
  const state = { ...now, asked: last.asked, probing };
  if (isLate || isSilent) return { act: "dead", state };
  if (jumped || now.steady - last.asked >= heartbeatMs) return { act: "ping", state: { ...state, asked: now.steady } };
  return { act: "nothing", state };
}
