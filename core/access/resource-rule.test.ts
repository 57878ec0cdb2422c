import { expect, test } from "vitest";
import type { Role, Rule } from "../resources/role.ts";
import { allowedVerbs, resourceRule } from "./resource-rule.ts";

const role = (name: string, allow: readonly Rule[], deny: readonly Rule[] = []): Role => ({
  kind: "role",
  version: "v7",
  metadata: { name },
  spec: { allow: { rules: [...allow] }, deny: { rules: [...deny] } },
});

test("the verbs of all roles together count, without those that one of them denies", () => {
  const roles = [
    role("reader", [{ resources: ["*"], verbs: ["list", "read"] }]),
    role("keeper", [{ resources: ["lock"], verbs: ["*"] }], [{ resources: ["token"], verbs: ["*"] }]),
  ];
  expect(allowedVerbs(roles, ["user", "lock", "token"])).toEqual({ user: ["list", "read"], lock: ["list", "create", "read", "update", "delete"] });
});

test("without a role nothing is allowed", () => {
  expect(allowedVerbs([], ["user", "lock"])).toEqual({});
});

test("the role that denies is named", () => {
  const denying = role("strict", [], [{ resources: ["user"], verbs: ["delete"] }]);
  const roles = [role("all", [{ resources: ["*"], verbs: ["*"] }]), denying];
  expect(resourceRule(roles, { resource: "user", verb: "delete" })).toEqual({ denying, isAllowed: true });
  expect(resourceRule(roles, { resource: "user", verb: "read" })).toEqual({ denying: undefined, isAllowed: true });
});
