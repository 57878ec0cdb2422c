import fc from "fast-check";
import { expect, test } from "vitest";
import { versionShares } from "./version-shares.ts";

test("the most common version comes first", () => {
  expect(versionShares(["1.0.0", "1.1.0", "1.1.0", "0.9.0"])).toEqual([
    { version: "1.1.0", count: 2, share: 0.5 },
    { version: "0.9.0", count: 1, share: 0.25 },
    { version: "1.0.0", count: 1, share: 0.25 },
  ]);
  expect(versionShares([])).toEqual([]);
});

test("every host is counted once", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("1", "2", "3"), { minLength: 1 }), (versions) => {
      const shares = versionShares(versions);
      expect(shares.reduce((sum, { count }) => sum + count, 0)).toBe(versions.length);
      expect(shares.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
    }),
  );
});
