import { expect, test } from "vitest";
import { afterRemoval } from "./users.ts";

test("a removal says what the auth service did; one of the version before shuts nobody out, and what to do then is said instead", () => {
  expect(afterRemoval("bob", ["Sessions of bob end now."])).toEqual(["Sessions of bob end now."]);
  expect(afterRemoval("bob", [])).toEqual([expect.stringMatching(/stay valid until they expire.*tctl lock --user=bob$/)]);
});
