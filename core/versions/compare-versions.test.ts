import fc from "fast-check";
import { expect, test } from "vitest";
import { compareVersions } from "./compare-versions.ts";

test.for([
  ["1.0.0", "1.0.0", 0],
  ["1.0.0", "v1.0.0", 0],
  ["1.0.0", "1.0.1", -1],
  ["1.10.0", "1.9.0", 1],
  ["1.0.0-rc.1", "1.0.0", -1],
  ["1.0.0-rc.2", "1.0.0-rc.10", -1],
  ["1.0.0+a", "1.0.0+b", 0],
  ["none", "0.0.1-0", -1],
  ["1.0.0", "", 1],
  ["none", "", 0],
] as const)("%s against %s is %d", ([a, b, order]) => {
  expect(compareVersions(a, b)).toBe(order);
  expect(compareVersions(b, a)).toBe(0 - order);
});

test("it never throws on any text", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (a, b) => {
      expect(compareVersions(a, b) + compareVersions(b, a)).toBe(0);
    }),
  );
});
