import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import { formatDuration, parseDuration } from "./duration.ts";

test.for([
  ["30m", 1800],
  ["12h", 43_200],
  ["1h30m", 5400],
  ["30h0m0s", 108_000],
  ["7d", 604_800],
] as const)("%s is %i seconds", ([text, seconds]) => {
  expect(parseDuration(text)).toBe(seconds);
});

test.for(["", "12", "h", "1.5h", "-1h", "1h ", "1w", "1h30", "9999999999s"])("%j is refused", (text) => {
  expect(() => parseDuration(text)).toThrow(PlatformError);
});

test("a formatted duration is parsed to the same value", () => {
  fc.assert(fc.property(fc.nat({ max: 10 ** 9 }), (seconds) => parseDuration(formatDuration(seconds)) === seconds));
});
