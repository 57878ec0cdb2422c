import fc from "fast-check";
import { expect, test } from "vitest";
import { maxQuery } from "../../core/kinds/db/db-events.ts";
import { cappedQuery, cappedValue } from "./capped-text.ts";

test("a short query stands as it is", () => {
  expect(cappedQuery(Buffer.from("select 'ä€😀'"))).toEqual({ db_query: "select 'ä€😀'" });
});

test.for([
  ["ascii", "a"],
  ["two bytes", "ä"],
  ["three bytes", "€"],
  ["four bytes", "😀"],
  ["control characters, of which JSON makes six", "\u0001"],
])("a long query of %s is bounded, marked, and no character is split", ([, character = ""]) => {
  const whole = Buffer.from(`x${character.repeat(400_000)}`);
  const { db_query: text, db_query_bytes: length } = cappedQuery(whole.subarray(0, 100_000), whole.length);
  expect(length).toBe(whole.length);
  expect(text.length).toBeLessThanOrEqual(maxQuery);
  expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThan(40_000);
  expect(text).toMatch(new RegExp(`^x(${character})+… \\(cut\\)$`, "u"));
});

test("any bytes become well-formed text within the limits", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 3000 }), fc.nat(200), (bytes, times) => {
      const buffer = Buffer.concat(Array.from({ length: times }, () => bytes));
      const { db_query: text } = cappedQuery(buffer);
      expect(text.length).toBeLessThanOrEqual(maxQuery);
      expect(text.isWellFormed()).toBe(true);
      expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThan(40_000);
      const value = cappedValue(buffer.toString("utf8"));
      expect(value.length).toBeLessThanOrEqual(256);
      expect(value.isWellFormed()).toBe(true);
    }),
  );
});
