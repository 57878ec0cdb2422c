import fc from "fast-check";
import { expect, test } from "vitest";
import { limitedRate } from "./limited-rate.ts";

test("a burst, then the average; what was not used is saved up to the burst", () => {
  let now = 0;
  const admit = limitedRate({ burst: 2, perSecond: 1 }, () => now);
  expect([admit(), admit(), admit()]).toEqual([true, true, false]);
  now = 999;
  expect(admit()).toBe(false);
  now = 1_001;
  expect([admit(), admit()]).toEqual([true, false]);
  now = 1_000_000;
  expect([admit(), admit(), admit()]).toEqual([true, true, false]);
});

test("no pattern of calls gets more than the burst and the average", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 3_000 }), { maxLength: 200 }), (waits) => {
      let now = 0;
      const admit = limitedRate({ burst: 5, perSecond: 2 }, () => now);
      let admitted = 0;
      for (const wait of waits) {
        now += wait;
        if (admit()) admitted += 1;
      }
      expect(admitted).toBeLessThanOrEqual(5 + (now / 1000) * 2);
    }),
  );
});
