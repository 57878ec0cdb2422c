import { expect, test } from "vitest";
import { dayBegin, lengthText, localTime, readTime, relativeTime, shortTime, spanText, utcTime } from "./time.ts";

const now = new Date("2026-11-23T13:05:09.500Z");
const before = (seconds: number): Date => new Date(now.getTime() - seconds * 1000);

test.for<[seconds: number, text: string]>([
  [0, "now"],
  [44, "now"],
  [45, "1 min ago"],
  [-90, "in 2 min"],
  [3599, "60 min ago"],
  [3600, "1 h ago"],
  [35 * 3600, "35 h ago"],
  [-36 * 3600, "in 2 days"],
  [86_400 * 400, "400 days ago"],
])("%d seconds ago is %s", ([seconds, text]) => {
  expect(relativeTime(before(seconds), now)).toBe(text);
});

test("a moment is shown in the reader's zone and in UTC", () => {
  expect(localTime(now, "Europe/Berlin")).toBe("2026-11-23 14:05:09");
  expect(localTime(new Date("2026-11-23T00:00:00Z"), "UTC")).toBe("2026-11-23 00:00:00");
  expect(utcTime(now)).toBe("2026-11-23 13:05:09 UTC");
});

test("a moment of today is shown by its time, an earlier one by its day and minute", () => {
  expect(shortTime(before(3600), now, "UTC")).toBe("12:05:09");
  expect(shortTime(before(86_400), now, "UTC")).toBe("2026-11-22 13:05");
  // Already tomorrow there.
  expect(shortTime(new Date("2026-11-23T00:30:00Z"), now, "Pacific/Auckland")).toBe("2026-11-23 13:30");
});

test.for([
  [0, "0:00"],
  [-5, "0:00"],
  [123_000, "2:03"],
  [3_723_400, "1:02:03"],
] as const)("%d ms is %s", ([ms, text]) => {
  expect(lengthText(ms)).toBe(text);
});

test.for([
  ["UTC", "Mon 2026-11-23 23:00–2026-11-24 00:00"],
  ["Europe/Berlin", "Tue 2026-11-24 00:00–01:00"],
  ["America/New_York", "Mon 2026-11-23 18:00–19:00"],
  ["Asia/Kolkata", "Tue 2026-11-24 04:30–05:30"],
] as const)("a window in %s is %s", ([zone, text]) => {
  expect(spanText({ start: new Date("2026-11-23T23:00:00Z"), stop: new Date("2026-11-24T00:00:00Z") }, zone)).toBe(text);
});

test("a text that is not a time is none", () => {
  expect(readTime("2026-11-23T13:05:09Z")).toEqual(new Date("2026-11-23T13:05:09Z"));
  expect([readTime("yesterday"), readTime(undefined), readTime("")]).toEqual([undefined, undefined, undefined]);
});

test("a day begins at midnight of the reader's zone, and ends where the next one begins", () => {
  expect(dayBegin("2026-12-31")).toBe(new Date(2026, 11, 31).toISOString());
  expect(dayBegin("2026-12-31", 1)).toBe(new Date(2027, 0, 1).toISOString());
});

test.for([null, "", "yesterday", "2026-1-1", "2026-11-23T00:00:00Z"])("%j is not a day", (text) => {
  expect(dayBegin(text)).toBe("");
});
