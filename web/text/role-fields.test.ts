import fc from "fast-check";
import { expect, test } from "vitest";
import type { Role } from "../../core/resources/role.ts";
import { someRuns } from "../../test/fuzz/some-runs.ts";
import { labelLines, labelsOf, linesOf, withConditions } from "./role-fields.ts";

test("a field's lines are its entries", () => {
  expect(linesOf(" root\n\n ann \n")).toEqual(["root", "ann"]);
});

test.for([
  [undefined, ""],
  [{}, ""],
  [{ env: "prod" }, "env=prod"],
  [{ env: ["prod", "test"], team: ["web"] }, "env=prod\nenv=test\nteam=web"],
  [{ "*": "*" }, "*=*"],
  [{ expr: "^a=b|c$" }, "expr=^a=b|c$"],
  [{ "a=b": "c" }, undefined],
  [{ env: [] }, undefined],
  [{ env: " prod" }, undefined],
] as const)("the labels %j are the lines %j", ([labels, lines]) => {
  expect(labelLines(labels as Parameters<typeof labelLines>[0])).toBe(lines);
});

test("a line without a value is none", () => {
  expect([labelsOf(["env"]), labelsOf(["=prod"])]).toEqual([undefined, undefined]);
  expect(labelsOf(["__proto__=1"])).toEqual(Object.fromEntries([["__proto__", "1"]]));
});

test("labels that lines can say come back from them", () => {
  const labels = fc.dictionary(fc.string({ minLength: 1 }), fc.oneof(fc.string(), fc.array(fc.string(), { minLength: 2, maxLength: 3 })));
  fc.assert(
    fc.property(labels, (one) => {
      const lines = labelLines(one);
      if (lines !== undefined) expect(labelsOf(linesOf(lines))).toEqual({ ...one });
    }),
    { numRuns: someRuns(50) },
  );
});

test("what is empty is left out of the role, and what is not in the form stays", () => {
  const role: Role = {
    kind: "role",
    version: "v7",
    metadata: { name: "r" },
    spec: {
      options: { forward_agent: true },
      allow: { logins: ["root"], rules: [{ resources: ["user"], verbs: ["list"] }] },
      deny: { logins: ["x"] },
    },
  };
  const changed = withConditions(withConditions(role, "allow", { logins: [], node_labels: { env: "prod" } }), "deny", { logins: [] });
  expect(changed.spec).toEqual({
    options: { forward_agent: true },
    allow: { node_labels: { env: "prod" }, rules: [{ resources: ["user"], verbs: ["list"] }] },
  });
});
