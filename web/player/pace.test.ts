import fc from "fast-check";
import { expect, test } from "vitest";
import { advance, keyOf, longestIdle, otherSpeed, speeds } from "./pace.ts";

test("time passes at the speed", () => {
  expect(advance({ position: 10, next: 20, passed: 0.5 }, { speed: 2, skipsIdle: false })).toBe(11);
  expect(advance({ position: 10, next: undefined, passed: 5 }, { speed: 2, skipsIdle: true })).toBe(10);
});

test("of a long pause, the last second is shown at any speed", () => {
  expect(advance({ position: 10, next: 3610, passed: 0.1 }, { speed: 1, skipsIdle: true })).toBeCloseTo(3609.1);
  expect(advance({ position: 10, next: 3610, passed: 0.1 }, { speed: 8, skipsIdle: true })).toBeCloseTo(3602.8);
});

test("a position never goes back, and a pause that is skipped never takes longer than the longest", () => {
  const seconds = fc.double({ min: 0, max: 1e6, noNaN: true });
  fc.assert(
    fc.property(seconds, seconds, fc.constantFrom(...speeds), fc.boolean(), (position, gap, speed, skipsIdle) => {
      const pace = { speed, skipsIdle };
      const next = position + gap;
      expect(advance({ position, next, passed: 0.016 }, pace)).toBeGreaterThanOrEqual(position);
      if (skipsIdle) expect(advance({ position, next, passed: longestIdle }, pace)).toBeGreaterThanOrEqual(next - 1e-6);
    }),
  );
});

test("keys", () => {
  expect([" ", "ArrowLeft", "ArrowRight", "ArrowUp", "x", "toString"].map(keyOf)).toEqual([
    "pause",
    "back",
    "forward",
    "faster",
    undefined,
    undefined,
  ]);
  expect([otherSpeed(1, "faster"), otherSpeed(8, "faster"), otherSpeed(0.5, "slower"), otherSpeed(2, "slower")]).toEqual([2, 8, 0.5, 1]);
});
