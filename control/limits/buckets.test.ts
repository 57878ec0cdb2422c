import fc from "fast-check";
import { expect, test } from "vitest";
import { Buckets } from "./buckets.ts";

const at = (seconds: number): Date => new Date(Date.parse("2026-01-01T00:00:00Z") + seconds * 1000);

test("a burst is let through, then the average; each owner has buckets of its own; what is refused takes nothing", () => {
  const buckets = new Buckets({ perSecond: 2, burst: 10 }, { perSecond: 100, burst: 1_000 });
  expect(buckets.take("a", [10, 500], at(0))).toBe(true);
  expect(buckets.take("a", [1, 0], at(0))).toBe(false);
  expect(buckets.take("b", [1, 0], at(0))).toBe(true);
  expect(buckets.take("a", [2, 700], at(1))).toBe(false);
  expect([buckets.has("a", [2, 700], at(1)), buckets.has("a", [2, 600], at(1)), buckets.has("c", [10, 1_000], at(1))]).toEqual([false, true, true]);
  expect(buckets.take("a", [2, 600], at(1))).toBe(true);
  expect(buckets.take("a", [11, 0], at(100_000))).toBe(false);
  expect(buckets.take("a", [10, 1_000], at(100_000))).toBe(true);
});

test("nobody ever gets more than a burst and the average, whatever the clock does", () => {
  const steps = fc.array(fc.record({ amount: fc.nat(20), after: fc.integer({ min: -5, max: 30 }) }));
  fc.assert(
    fc.property(steps, (all) => {
      const buckets = new Buckets({ perSecond: 3, burst: 15 });
      let [time, last, gone, taken] = [0, 0, 0, 0];
      for (const { amount, after } of all) {
        time += after;
        gone += Math.max(0, time - last);
        last = time;
        if (buckets.take("a", [amount], at(time))) taken += amount;
        expect(taken).toBeLessThanOrEqual(15 + 3 * gone);
      }
    }),
  );
});

test("any number of owners costs bounded memory", () => {
  const buckets = new Buckets({ perSecond: 1, burst: 1 });
  expect(buckets.take("first", [1], at(0))).toBe(true);
  for (let owner = 0; owner < 100_000; owner += 1) buckets.take(String(owner), [1], at(0));
  expect(buckets.take("first", [1], at(0))).toBe(true);
});
