import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Log, silentLog } from "../../../core/log/log.ts";
import { ruleResources } from "../../../core/resources/resource-specs.ts";
import type { Role } from "../../../core/resources/role.ts";
import { addUser, loggedIn, openTestAuth } from "../../../test/inside/open-auth.ts";
import { openSqlite } from "../../storage/sqlite.ts";
import { presets } from "./roles.ts";
import { unknownResources, warnOfUnknownResources } from "./stored-role.ts";

describe("roles that this version cannot read", () => {
  test("a role of a newer version denies its holders, is named in the log and the warnings, and can be written again", async () => {
    await using t = await openTestAuth();
    const plain = { kind: "role", version: "v7", metadata: { name: "newer" }, spec: { allow: { logins: ["root"] } } };
    await t.admin.putResource({ json: JSON.stringify(plain) });
    const [held, other] = [await addUser(t, "alice", { roles: ["newer"] }), await addUser(t, "bob", { roles: ["access"] })];
    const alice = await loggedIn(t, held);
    const storage = openSqlite({ path: join(t.dataDir, "auth", "state.sqlite") });
    const newer = { ...plain, spec: { allow: { desktop_labels: { "*": "*" } }, deny: { logins: ["root"] } } };
    await storage.put({ key: "/role/newer", value: JSON.stringify(newer) });
    await storage.close();
    expect((await t.admin.getCluster({})).warnings).toContainEqual(
      expect.stringMatching(/^this version cannot read role newer: .*; its holders are denied$/),
    );
    await expect(alice.listResources({ kind: "node" })).rejects.toMatchObject({ code: "denied", message: expect.stringContaining("role newer") });
    await expect(loggedIn(t, held)).rejects.toMatchObject({ code: "denied" });
    await loggedIn(t, other);
    const { resources } = await t.admin.listResources({ kind: "role" });
    expect(resources.map(({ name }) => name)).toContain("newer");
    expect(JSON.parse((await t.admin.getResource({ kind: "role", name: "newer" })).json)).toMatchObject({ spec: newer.spec });
    await t.restart();
    expect(t.logLines.join()).toContain("this version cannot read a role: its holders are denied");
    await t.admin.putResource({ json: JSON.stringify(plain), overwrite: true });
    expect((await t.admin.getCluster({})).warnings.join()).not.toContain("newer");
  });
});

describe("resources that this version does not have", () => {
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
});
