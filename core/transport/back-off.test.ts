import fc from "fast-check";
import { expect, test } from "vitest";
import { backOffDelay, failuresAfter, stableMs } from "./back-off.ts";

test("no failure, no delay", () => {
  expect(backOffDelay(0, 0.99)).toBe(0);
});

test.for([
  [1, 1_000],
  [2, 2_000],
  [3, 4_000],
  [6, 30_000],
  [1_000, 30_000],
] as const)("after %i failures the delay stays below %i ms", ([failures, ceiling]) => {
  expect(backOffDelay(failures, 0)).toBe(0);
  expect(backOffDelay(failures, 0.5)).toBe(ceiling / 2);
  expect(backOffDelay(failures, 1 - Number.EPSILON)).toBeLessThan(ceiling);
});

test("a delay is always a number, never negative, never above the cap", () => {
  fc.assert(
    fc.property(fc.nat(), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (failures, random) => {
      const delay = backOffDelay(failures, random);
      return delay >= 0 && delay <= 30_000;
    }),
  );
});

test("a life of a minute forgets the failures before it", () => {
  expect(failuresAfter(5, stableMs - 1)).toBe(6);
  expect(failuresAfter(5, stableMs)).toBe(1);
});
