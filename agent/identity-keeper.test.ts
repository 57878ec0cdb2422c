import { expect, test } from "vitest";
import { nextRenewal } from "./identity-keeper.ts";

test.for([
  [0, 300],
  [0.5, 350],
  [0.999_999, 400],
] as const)("with %d drawn, renewal comes after about %i of 1,000 s", ([random, seconds]) => {
  const validity = { from: new Date(0), to: new Date(1_000_000) };
  expect(nextRenewal(validity, random)).toBeCloseTo(seconds * 1000, -1);
});

test("a reversed validity is due at once", () => {
  expect(nextRenewal({ from: new Date(5000), to: new Date(0) }, 0.5)).toBe(5000);
});
