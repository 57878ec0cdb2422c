import { expect, test } from "vitest";
import type { User } from "../../core/resources/user.ts";
import { traitLines, traitsOf, withLogins, withOtherTraits, withRoles } from "./user-fields.ts";

const user = (traits?: User["spec"]["traits"]): User => ({
  kind: "user",
  version: "v2",
  metadata: { name: "ann", revision: "7" },
  spec: { roles: ["access"], ...(traits !== undefined && { traits }) },
});

test.for<[traits: User["spec"]["traits"], lines: string | undefined]>([
  [undefined, ""],
  [{ logins: ["ann"] }, ""],
  [{ logins: ["ann"], team: ["web", "data"], kubernetes_groups: ["dev"] }, "team=web\nteam=data\nkubernetes_groups=dev"],
  [{ team: ["a=b"] }, "team=a=b"],
  [{ team: [] }, undefined],
  [{ team: [" web"] }, undefined],
])("traits %j are the lines %j, and the same traits again", ([traits, lines]) => {
  expect(traitLines(user(traits))).toBe(lines);
  if (lines === undefined) return;
  const read = traitsOf(lines === "" ? [] : lines.split("\n"));
  expect(withOtherTraits(user(traits), read ?? {})).toEqual(user(traits));
});

test.for([["team"], ["=web"], ["logins=root"]])("lines %j are refused", (lines) => {
  expect(traitsOf(lines)).toBeUndefined();
});

test("changes keep what they are not about, the revision too", () => {
  const ann = user({ logins: ["ann"], team: ["web"] });
  expect(withRoles(ann, ["editor"])).toEqual({ ...ann, spec: { ...ann.spec, roles: ["editor"] } });
  expect(withLogins(ann, ["root"])).toEqual(user({ logins: ["root"], team: ["web"] }));
  expect(withLogins(ann, [])).toEqual(user({ team: ["web"] }));
  expect(withLogins(user({ logins: ["ann"] }), [])).toEqual(user());
  expect(withOtherTraits(ann, {})).toEqual(user({ logins: ["ann"] }));
});
