import { expect, test } from "vitest";
import { followedName } from "./followed-name.ts";

test("a name is followed where every server takes it for itself alone", () => {
  for (const name of ["", "s", "S_1", "stmtcache_".padEnd(62, "f")]) expect(followedName(name)).toBe(name);
  for (const name of ["x".repeat(63), "x".repeat(5_000), "ä", "\\xe4", "a\\b", "😀"]) expect(followedName(name)).toBeUndefined();
});
