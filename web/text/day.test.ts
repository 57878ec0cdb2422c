import { expect, test } from "vitest";
import { dayBegin } from "./day.ts";

test("a day begins at midnight of the reader's zone, and ends where the next one begins", () => {
  expect(dayBegin("2026-12-31")).toBe(new Date(2026, 11, 31).toISOString());
  expect(dayBegin("2026-12-31", 1)).toBe(new Date(2027, 0, 1).toISOString());
});

test.for([null, "", "yesterday", "2026-1-1", "2026-11-23T00:00:00Z"])("%j is not a day", (text) => {
  expect(dayBegin(text)).toBe("");
});
