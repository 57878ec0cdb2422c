import fc from "fast-check";
import { expect, test } from "vitest";
import { windowOf } from "./window-of.ts";

test.for<[name: string, facts: Parameters<typeof windowOf>[0], window: { from: number; to: number }]>([
  ["a short list is drawn whole", { count: 5, rowHeight: 40, above: 0, visible: 800 }, { from: 0, to: 5 }],
  ["the beginning", { count: 10_000, rowHeight: 40, above: -200, visible: 800 }, { from: 0, to: 32 }],
  ["the middle", { count: 10_000, rowHeight: 40, above: 40_000, visible: 800 }, { from: 988, to: 1032 }],
  ["the end", { count: 10_000, rowHeight: 40, above: 399_500, visible: 800 }, { from: 9974, to: 10_000 }],
  ["nothing", { count: 0, rowHeight: 40, above: 0, visible: 800 }, { from: 0, to: 0 }],
])("%s", ([, facts, window]) => {
  expect(windowOf(facts)).toEqual(window);
});

test("every row that can be seen is drawn, and never more than the screen and its surroundings", () => {
  const facts = fc.record({
    count: fc.nat(20_000),
    rowHeight: fc.integer({ min: 20, max: 90 }),
    above: fc.integer({ min: -5000, max: 2_000_000 }),
    visible: fc.integer({ min: 0, max: 4000 }),
  });
  fc.assert(
    fc.property(facts, (one) => {
      const { from, to } = windowOf(one);
      expect(from).toBeGreaterThanOrEqual(0);
      expect(to).toBeLessThanOrEqual(one.count);
      expect(to - from).toBeLessThanOrEqual(Math.ceil(one.visible / one.rowHeight) + 28);
      const first = Math.floor(Math.max(0, one.above) / one.rowHeight);
      const last = Math.min(one.count, Math.ceil((Math.max(0, one.above) + one.visible) / one.rowHeight)) - 1;
      if (first <= last && one.above < one.count * one.rowHeight) {
        expect(from).toBeLessThanOrEqual(first);
        expect(to).toBeGreaterThan(last);
      }
    }),
  );
});
