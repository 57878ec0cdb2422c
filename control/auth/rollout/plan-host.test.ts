import { expect, test } from "vitest";
import { type NextChance, planTimes } from "./plan-host.ts";
import type { RolloutState } from "./rollout-state.ts";
import { canaries, hour, minute, prodWaits, running, specOf } from "./testing/play-rollout.ts";

const day = 24 * hour;
/** Midnight. */
const now = Date.parse("2027-01-10T00:00:00Z");
/** A window from 02:00 to 03:00 each day. */
const nightly: NextChance = (after) => {
  const start = Math.floor((after - 2 * hour) / day) * day + 2 * hour;
  return after < start + hour ? Math.max(start, after) : start + day;
};
const atOnce: NextChance = (after) => after;
const never: NextChance = () => undefined;

type Times = readonly [canaries: string | undefined, rest: string | undefined];
const staging = (...times: Times) => ({ staging: times });
const rows: readonly [why: string, given: { state?: Partial<RolloutState>; chance?: NextChance; spec?: object }, then: Record<string, Times>][] = [
  [
    "canaries in the next window, the rest once they have kept it, the next group after its wait",
    { state: canaries },
    { staging: ["10T02:00", "10T02:10"], prod: ["11T02:00", "11T02:10"] },
  ],
  ["a critical version does not wait for windows", { state: { all: true }, chance: atOnce }, { staging: ["10T00:00", "10T00:00"] }],
  ["nobody can say without a window", { state: canaries, chance: never }, { staging: [undefined, undefined], prod: [undefined, undefined] }],
  ["a freeze that runs", { state: canaries, spec: { freezes: [{ from: "2027-01-09", to: "2027-01-11" }] } }, staging("12T02:00", "12T02:10")],
  [
    "a freeze that begins before the window",
    { state: canaries, spec: { freezes: [{ from: "2027-01-10T01:00:00Z", to: "2027-01-11" }] } },
    staging("12T02:00", "12T02:10"),
  ],
  [
    "a freeze that begins in the middle of the window lets the canaries go, not the rest",
    { state: canaries, spec: { freezes: [{ from: "2027-01-10T02:05:00Z", to: "2027-01-10" }] } },
    staging("10T02:00", "11T02:00"),
  ],
  [
    "two freezes, one after the other",
    {
      state: { passed: ["staging"], group: "prod", phase: "group" },
      spec: {
        freezes: [
          { from: "2027-01-11", to: "2027-01-12" },
          { from: "2027-01-10T01:00:00Z", to: "2027-01-10" },
        ],
      },
    },
    { staging: ["13T02:00", "13T02:00"], prod: ["13T02:00", "13T02:00"] },
  ],
  [
    "a freeze of a critical version",
    { state: { all: true }, chance: atOnce, spec: { freezes: [{ from: "2027-01-09", to: "2027-01-10" }] } },
    staging("11T00:00", "11T00:00"),
  ],
  ["a group that waits", { state: { ...prodWaits, until: now + 3 * hour }, chance: atOnce }, { prod: ["10T03:00", "10T03:10"] }],
];
test.for(rows)("%s", ([_why, { state, chance = nightly, spec = {} }, then]) => {
  const times = planTimes({ ...running, ...state }, { spec: specOf(spec), chance, now });
  const text = (time: number | undefined) => (time === undefined ? undefined : new Date(time).toISOString().slice(8, 16));
  for (const [group, expected] of Object.entries(then)) {
    const { canaries: first, rest } = times.get(group) ?? {};
    expect([text(first), text(rest)], group).toEqual(expected);
  }
});

test("a freeze for ever ends in no time at all", () => {
  const spec = specOf({ freezes: [{ from: "2027-01-10T01:00:00Z", to: "9999-12-30" }] });
  const horizon: NextChance = (after) => (after > now + 400 * day ? undefined : after + minute);
  expect(planTimes({ ...running, ...canaries }, { spec, chance: horizon, now: now + 2 * hour }).get("staging")).toEqual({
    canaries: undefined,
    rest: undefined,
  });
});
