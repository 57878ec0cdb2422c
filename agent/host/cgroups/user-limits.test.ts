import { expect, test } from "vitest";
import { allTasks, sessionLimits } from "./user-limits.ts";

test.for([
  [
    { pidMax: 32_768, threadsMax: 192_730, memory: 1000 },
    { tasks: 10_813, memory: 900 },
  ],
  [
    { pidMax: 4_194_304, threadsMax: 192_730, memory: 1000 },
    { tasks: 16_384, memory: 900 },
  ],
  [
    { pidMax: 4_194_304, threadsMax: 2_000, memory: 0 },
    { tasks: 660, memory: 0 },
  ],
] as const)("limits of one user on a host with %o", ([facts, limits]) => {
  expect(sessionLimits(facts)).toEqual(limits);
});

test.for([
  ["26214\n", 25_702],
  ["600", 300],
  ["max\n", undefined],
  ["", undefined],
] as const)("of %j the agent keeps some", ([max, all]) => {
  expect(allTasks(max)).toBe(all);
});
