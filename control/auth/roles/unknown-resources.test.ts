import { expect, test } from "vitest";
import type { Log } from "../../../core/log/log.ts";
import { silentLog } from "../../../core/log/log.ts";
import { ruleResources } from "../../../core/resources/resource-specs.ts";
import type { Role } from "../../../core/resources/role.ts";
import { presets } from "./presets.ts";
import { unknownResources, warnOfUnknownResources } from "./unknown-resources.ts";

function role(...resources: string[]): Role {
  return {
    kind: "role",
    version: "v7",
    metadata: { name: "dev" },
    spec: {
      allow: {
        rules: [
          { resources: ["node"], verbs: ["list"] },
          { resources, verbs: ["*"] },
        ],
      },
    },
  };
}

test.for([
  ["cluster_maintenance_confg", "did you mean cluster_maintenance_config?"],
  ["nodes", "did you mean node?"],
  ["nonsense", `resources are ${ruleResources.join(", ")} and '*'`],
])("a rule for %s is pointed out", ([name = "", said]) => {
  expect(unknownResources(role("user", name))).toEqual([expect.stringContaining(`spec.allow.rules.1: unknown resource "${name}"; ${said}`)]);
});

test("rules for what there is, or for all, are well; so are the presets", () => {
  for (const known of [role(...ruleResources), role("*"), ...presets]) expect(unknownResources(known)).toEqual([]);
});

test("a deny is looked at too", () => {
  const { spec, ...rest } = role("tokn");
  expect(unknownResources({ ...rest, spec: { deny: spec.allow } })).toEqual(['spec.deny.rules.1: unknown resource "tokn"; did you mean token?']);
});

test("stored roles are warned of by name", () => {
  const said: unknown[] = [];
  const log: Log = { ...silentLog, warn: (message, fields) => said.push([message, fields?.role]) };
  warnOfUnknownResources([role("user"), role("tokn")], log);
  expect(said).toEqual([["a role has rules without effect", "dev"]]);
});
