import fc from "fast-check";
import { expect, test } from "vitest";
import { versionShares } from "./version-shares.ts";

test("the wanted version comes first, then the others, the newest first", () => {
  expect(versionShares(["1.9.0", "1.10.0", "1.11.0", "1.10.0"], ["1.10.0"])).toEqual([
    { version: "1.10.0", count: 2, share: 0.5, isWanted: true },
    { version: "1.11.0", count: 1, share: 0.25, isWanted: false },
    { version: "1.9.0", count: 1, share: 0.25, isWanted: false },
  ]);
  expect(versionShares([], ["1.0.0"])).toEqual([]);
});

test("every host is counted once", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("1", "2", "3"), { minLength: 1 }), (versions) => {
      const shares = versionShares(versions, ["2"]);
      expect(shares.reduce((sum, { count }) => sum + count, 0)).toBe(versions.length);
      expect(shares.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
    }),
  );
});
