import fc from "fast-check";
import { expect, test } from "vitest";
import { healthDetails } from "../../core/resources/offered.ts";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { nextHealth, unknownHealth } from "./health.ts";

const after = (...results: readonly boolean[]): string =>
  results.reduce((health, isGood) => nextHealth(health, isGood ? undefined : "no connection"), unknownHealth).health;

test.for<[string, readonly boolean[]]>([
  ["unknown", []],
  ["healthy", [true]],
  ["unhealthy", [false]],
  ["unhealthy", [true, false]],
  ["unhealthy", [true, true, true, false]],
  ["unhealthy", [false, true]],
  ["unhealthy", [false, true, false, true]],
  ["healthy", [false, true, true]],
  ["healthy", [false, true, false, true, true]],
])("a database is %s after these checks: %j", ([status, results]) => {
  expect(after(...results)).toBe(status);
});

test("an unhealthy database keeps its latest reason until it is healthy again", () => {
  const first = nextHealth(unknownHealth, "connection refused");
  expect(healthDetails(first)).toEqual({ health: "unhealthy", health_error: "connection refused" });
  const second = nextHealth(first, "no route to the host");
  expect(healthDetails(nextHealth(second, undefined))).toEqual({ health: "unhealthy", health_error: "no route to the host" });
  expect(healthDetails(nextHealth(nextHealth(second, undefined), undefined))).toEqual({ health: "healthy" });
  expect(healthDetails(unknownHealth)).toEqual({ health: "unknown" });
});

test("any reason becomes one bounded line of valid text", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 600 }), (text) => {
      const { healthError: error } = nextHealth(unknownHealth, text);
      expect(error.length).toBeGreaterThan(0);
      expect(error.length).toBeLessThanOrEqual(200);
      expect(error).not.toMatch(/\p{Cc}/u);
      expect(Buffer.from(error).toString()).toBe(error);
    }),
  );
  expect(nextHealth(unknownHealth, `${"x".repeat(198)}😀y`).healthError).toBe(`${"x".repeat(198)}…`);
});
