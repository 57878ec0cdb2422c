import fc from "fast-check";
import { expect, test } from "vitest";
import { someRuns } from "../../test/fuzz/some-runs.ts";
import { Keyframes } from "./keyframes.ts";

const mib = 1024 * 1024;
const stateOf = (bytes: number) => () => ({ size: { columns: 80, rows: 24 }, bytes, drawn: [], inside: { putInto: () => {} } });
const at = (shown: number) => ({ offset: shown, time: shown / mib, shown });

test("the last keyframe up to a moment is found, whatever the order in which they were made", () => {
  const keyframes = new Keyframes();
  for (const shown of [40 * mib, 10 * mib, 20 * mib]) keyframes.offer(at(shown), stateOf(100));
  expect([9, 10, 15, 25, 1000].map((time) => keyframes.before(time)?.time)).toEqual([undefined, 10, 10, 20, 40]);
});

test("no state is taken near another one, or where there is none, or of one that is too large", () => {
  const keyframes = new Keyframes();
  keyframes.offer(at(10 * mib), stateOf(100));
  keyframes.offer(at(10 * mib + 1), () => expect.unreachable());
  keyframes.offer(at(mib), () => expect.unreachable());
  keyframes.offer(at(30 * mib), () => undefined);
  keyframes.offer(at(31 * mib), stateOf(9 * mib));
  expect(keyframes.before(1000)?.time).toBe(10);
});

test("however much is shown, their number and size are bounded, and they stay spread", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: mib }), fc.integer({ min: 100, max: 600 }), (bytes, count) => {
      const keyframes = new Keyframes();
      for (let one = 1; one <= count; one += 1) keyframes.offer(at(one * 4 * mib), stateOf(bytes));
      const found = new Set(Array.from({ length: count }, (_, number) => keyframes.before((number + 1) * 4)).filter((one) => one !== undefined));
      expect(found.size).toBeLessThanOrEqual(256);
      expect(found.size * bytes).toBeLessThanOrEqual(32 * mib);
      const last = Math.max(...[...found].map(({ time }) => time));
      expect(last).toBeGreaterThan(count * 2);
    }),
    { numRuns: someRuns(15) },
  );
});
