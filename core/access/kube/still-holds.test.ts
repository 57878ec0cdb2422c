import { describe, expect, test } from "vitest";
import type { Role } from "../../resources/role.ts";
import { stillHolds } from "./still-holds.ts";
import { askOf, decided, noKing, roleOf } from "./testing/kube-cases.ts";

describe("a request that runs goes on while what it uses is still lent", () => {
  const wide = roleOf("v", { groups: ["v"], rules: ["list pod a/*"] });
  const part = roleOf("v", { groups: ["v"], rules: ["list pod a/web-*"] });
  const morePart = roleOf("v", { groups: ["v"], rules: ["list pod a/web-*", "list pod a/db"] });
  const other = roleOf("o", { groups: ["o"], rules: ["list pod a/*"] });
  test.for<[what: string, before: readonly Role[], after: readonly Role[], holds: boolean]>([
    ["nothing changed", [part], [part], true],
    ["a role more", [wide], [wide, other], true],
    ["a role less, whose groups it has", [wide, other], [wide], false],
    ["a rule more", [part], [morePart], true],
    ["a rule less", [morePart], [part], false],
    ["all instead of a part", [part], [wide], true],
    ["a part instead of all", [wide], [part], false],
    ["a deny more", [wide], [wide, noKing], false],
    ["a deny less", [wide, noKing], [wide], true],
    ["another deny", [wide, noKing], [wide, roleOf("d", undefined, { rules: ["* pod */queen"] })], false],
  ])("%s", ([, before, after, holds]) => {
    const ask = askOf("list pod a/");
    expect(stillHolds(decided(before, ask), decided(after, ask))).toBe(holds);
  });
});
