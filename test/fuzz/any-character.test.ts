import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "./any-character.ts";

test("each is one character, from the first code point to the last, and none is half of a pair", () => {
  fc.assert(
    fc.property(anyCharacter, (character) => {
      expect([...character]).toHaveLength(1);
      expect(character.isWellFormed()).toBe(true);
    }),
  );
  const points = fc.sample(anyCharacter, { numRuns: 500, seed: 1 }).map((character) => character.codePointAt(0) ?? -1);
  expect(Math.min(...points)).toBe(0);
  expect(Math.max(...points)).toBe(0x10ffff);
  expect(points.filter((point) => point > 0xffff).length).toBeGreaterThan(100);
});

test.for(["\0", "a", "\ud7ff", "\ue000", "\u{10ffff}"])("%j is one", (character) => {
  expect(fc.string({ unit: anyCharacter }).canShrinkWithoutContext(character)).toBe(true);
});

test.for(["\ud800", "\udfff"])("%j is none", (half) => {
  expect(fc.string({ unit: anyCharacter }).canShrinkWithoutContext(half)).toBe(false);
});
