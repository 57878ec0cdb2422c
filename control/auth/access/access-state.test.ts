import { describe, expect, test } from "vitest";
import { serviceNames } from "../../../core/kinds/service-kinds.ts";
import { rolesForKinds } from "./access-state.ts";

describe("roles for callers that know fewer kinds", () => {
  const conditions = { logins: ["root"], node_labels: { "*": "*" }, app_labels: { env: "prod" } };
  const role = JSON.stringify({ kind: "role", metadata: { name: "r" }, spec: { options: { lock: "strict" }, allow: conditions, deny: conditions } });
  const parsed = (json: string | undefined) => JSON.parse(json ?? "{}") as { spec: { allow: object; deny: object; options: object } };

  test("an older caller gets roles that it can read, with all that it decides by", () => {
    const { spec } = parsed(rolesForKinds([role], [])[0]);
    const { app_labels: _, ...rest } = conditions;
    expect(spec).toEqual({ options: { lock: "strict" }, allow: rest, deny: rest });
  });

  test("so it does without options of kinds that it does not know", () => {
    const options = JSON.stringify({ kind: "role", metadata: { name: "r" }, spec: { options: { lock: "strict", db_replication: true } } });
    expect(parsed(rolesForKinds([options], ["ssh", "app"])[0]).spec).toEqual({ options: { lock: "strict" } });
    expect(rolesForKinds([options], ["ssh", "db"])).toEqual([options]);
  });

  test("who knows all kinds gets roles as they are", () => {
    expect(rolesForKinds([role], [...serviceNames])).toEqual([role]);
    expect(rolesForKinds([role], [...serviceNames, "of a later version"])).toEqual([role]);
  });
});
