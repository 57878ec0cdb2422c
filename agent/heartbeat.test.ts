import { expect, test } from "vitest";
import { firstHeartbeat, type HeartbeatAct, type HeartbeatState, heartbeat, lookMs } from "./heartbeat.ts";

interface Step {
  /** Time passed on both clocks since the previous step, ms. */
  readonly after: number;
  /** Time passed on the wall clock alone. */
  readonly jump?: number;
  readonly heard?: boolean;
}

function play(steps: readonly Step[]): HeartbeatAct[] {
  let [wall, steady] = [1_000_000, 500];
  let state: HeartbeatState = firstHeartbeat({ wall, steady });
  return steps.map(({ after, jump = 0, heard = false }) => {
    steady += after;
    wall += after + jump;
    const next = heartbeat(state, { wall, steady, heard: heard ? steady : state.heard });
    state = next.state;
    return next.act;
  });
}

const look: Step = { after: lookMs };
const answered: Step = { after: lookMs, heard: true };

test("a ping goes out every 10 s", () => {
  expect(play([look, answered, look, answered])).toEqual(["nothing", "ping", "nothing", "ping"]);
});

test("a silent peer is dead within 45 s", () => {
  const acts = play(Array.from({ length: 8 }, () => look));
  expect(acts.slice(0, 7)).not.toContain("dead");
  expect(acts[7]).toBe("dead");
});

test.for([
  ["forward", 3_600_000],
  ["back", -60_000],
])("a clock that jumps %s makes the agent ping at once, and the peer must answer within 10 s", ([, jump]) => {
  expect(play([answered, { after: lookMs, jump: jump as number }, look, look])).toEqual(["nothing", "ping", "nothing", "dead"]);
  expect(play([answered, { after: lookMs, jump: jump as number }, answered, look, look])).toEqual(["nothing", "ping", "nothing", "ping", "nothing"]);
});

test("a process that stood still does not take its own silence for the peer's", () => {
  expect(play([answered, { after: 300_000 }, look, look])).toEqual(["nothing", "ping", "nothing", "dead"]);
  expect(play([answered, { after: 300_000 }, answered])).toEqual(["nothing", "ping", "nothing"]);
});
