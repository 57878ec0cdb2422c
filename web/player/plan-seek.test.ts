import fc from "fast-check";
import { expect, test } from "vitest";
import { maxReplay, planSeek } from "./plan-seek.ts";

const mib = 1024 * 1024;
/** A part of a MiB every ten seconds. */
const points = Array.from({ length: 100 }, (_, at) => ({ offset: at * 1000, time: at * 10, text: mib }));

test("a moment near the beginning is shown from the beginning, a later one from as far back as can be shown in time", () => {
  expect(planSeek(points, 35)).toMatchObject({ point: { offset: 0 }, isWhole: true });
  expect(planSeek(points, 505)).toMatchObject({ point: { offset: 43_000 }, isWhole: false });
  expect(planSeek(points, 1e9)).toMatchObject({ point: { offset: 92_000 }, isWhole: false });
});

test("without an index, reading begins at the beginning", () => {
  expect(planSeek([], 100)).toEqual({ point: { offset: 0, time: 0, text: 0 }, isWhole: true });
  expect(planSeek([{ offset: 0, time: 5, text: 10 }], 1)).toMatchObject({ point: { offset: 0 }, isWhole: true });
});

test("never more is shown again than the maximum, unless one part alone is longer", () => {
  const part = fc.record({ text: fc.nat(3 * maxReplay), gap: fc.nat(100) });
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 30 }), fc.nat(3_000), (parts, target) => {
      const timeOf = (at: number): number => parts.slice(1, at + 1).reduce((sum, { gap }) => sum + gap, 0);
      const all = parts.map(({ text }, at) => ({ offset: at, time: timeOf(at), text }));
      const { point, isWhole } = planSeek(all, target);
      const last = all.findLastIndex((one) => one.time <= target);
      const replayed = all.slice(point.offset, last + 1).reduce((sum, { text }) => sum + text, 0);
      expect(point.offset === last || replayed <= maxReplay).toBe(true);
      expect(isWhole).toBe(point.offset === 0);
    }),
  );
});
