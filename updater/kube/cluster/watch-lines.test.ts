import fc from "fast-check";
import { expect, test } from "vitest";
import { WatchLines } from "./watch-lines.ts";

/** The bytes in pieces that end at these places. */
function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((one, other) => one - other), bytes.length];
  return places.slice(1).map((end, at) => bytes.subarray(places[at], end));
}

test("however the bytes arrive, the lines are the same, and a cut one is not among them", () => {
  const line = fc.string({ unit: "grapheme" }).map((text) => JSON.stringify({ text }));
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat()), fc.boolean(), (lines, cuts, isCut) => {
      const bytes = Buffer.from(lines.map((one) => `${one}\n`).join("") + (isCut ? '{"torn' : ""));
      const reader = new WatchLines();
      expect(pieces(bytes, cuts).flatMap((piece) => [...reader.push(piece)])).toEqual(lines);
    }),
  );
});

test("any bytes are lines, or wait for their end", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const lines = new WatchLines().push(Buffer.from(bytes));
      expect(lines.every((line) => !line.includes("\n"))).toBe(true);
    }),
  );
});

test("a line without end is refused before it fills the memory", () => {
  const reader = new WatchLines();
  const piece = Buffer.alloc(1_048_576, "x");
  for (let count = 0; count < 4; count += 1) expect(reader.push(piece)).toEqual([]);
  expect(() => reader.push(piece)).toThrow(expect.objectContaining({ code: "limit" }));
});
