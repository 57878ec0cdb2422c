import fc from "fast-check";
import { expect, test } from "vitest";
import { maxReplay, planSeek, type SeekFacts } from "./plan-seek.ts";

const mib = 1024 * 1024;
/** A part of a MiB every ten seconds. */
const points = Array.from({ length: 100 }, (_, at) => ({ offset: at * 1000, time: at * 10, text: mib }));
type Keyframe = SeekFacts<{ offset: number; time: number }>["keyframe"];
const facts = { points, keyframe: undefined as Keyframe, present: undefined as SeekFacts<never>["present"], isWhole: false };
const at = (offset: number) => ({ offset, time: offset / 100 });

test.for([
  ["near the beginning", { target: 35 }, { from: "point", point: { offset: 0 }, isPartial: false }],
  ["later: from as far back as can be shown in time", { target: 505 }, { from: "point", point: { offset: 47_000 }, isPartial: true }],
  ["after the end", { target: 1e9 }, { from: "point", point: { offset: 96_000 }, isPartial: true }],
  ["without an index", { target: 100, points: [] }, { from: "point", point: { offset: 0 }, isPartial: false }],
  ["before the first point", { target: 1, points: [{ offset: 0, time: 5, text: 10 }] }, { from: "point", point: { offset: 0 }, isPartial: false }],
  ["near a keyframe", { target: 505, keyframe: at(44_000) }, { from: "keyframe", keyframe: at(44_000) }],
  ["far from a keyframe", { target: 505, keyframe: at(42_000) }, { from: "point", point: { offset: 47_000 }, isPartial: true }],
  ["soon after what is shown", { target: 505, present: { ...at(45_000), isPartial: false }, keyframe: at(44_000) }, { from: "present" }],
  ["soon after what is shown in part", { target: 505, present: { ...at(48_000), isPartial: true } }, { from: "present" }],
  [
    "soon after what is shown in part, near a keyframe",
    { target: 505, present: { ...at(48_000), isPartial: true }, keyframe: at(44_000) },
    { from: "keyframe" },
  ],
  ["before what is shown", { target: 505, present: { ...at(51_000), isPartial: false } }, { from: "point", point: { offset: 47_000 } }],
  ["whole, from a keyframe however far", { target: 505, isWhole: true, keyframe: at(7_000) }, { from: "keyframe", keyframe: at(7_000) }],
  ["whole, from the beginning", { target: 505, isWhole: true }, { from: "point", point: { offset: 0 }, isPartial: false }],
  [
    "whole, where a part is shown",
    { target: 505, isWhole: true, present: { ...at(45_000), isPartial: true } },
    { from: "point", point: { offset: 0 }, isPartial: false },
  ],
] as const)("a moment %s", ([, given, expected]) => {
  expect(planSeek({ ...facts, ...given })).toMatchObject(expected);
});

test("never more is shown again than the maximum, unless one part alone is longer", () => {
  const part = fc.record({ text: fc.nat(3 * maxReplay), gap: fc.nat(100) });
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 30 }), fc.nat(3_000), (parts, target) => {
      const timeOf = (at: number): number => parts.slice(1, at + 1).reduce((sum, { gap }) => sum + gap, 0);
      const all = parts.map(({ text }, at) => ({ offset: at, time: timeOf(at), text }));
      const plan = planSeek({ ...facts, points: all, target });
      if (plan.from !== "point") throw new Error("nothing else is there to begin from");
      const last = all.findLastIndex((one) => one.time <= target);
      const replayed = all.slice(plan.point.offset, last + 1).reduce((sum, { text }) => sum + text, 0);
      expect(plan.point.offset === last || replayed <= (plan.isPartial ? 1 : 2) * maxReplay).toBe(true);
      expect(plan.isPartial || plan.point.offset === 0).toBe(true);
    }),
  );
});
