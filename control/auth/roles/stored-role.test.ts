import { join } from "node:path";
import { expect, test } from "vitest";
import { addUser, loggedIn, openTestAuth } from "../../../test/inside/open-auth.ts";
import { openSqlite } from "../../storage/sqlite.ts";

test("a role of a newer version denies its holders, is named in the log and the warnings, and can be written again", async () => {
  await using t = await openTestAuth();
  const plain = { kind: "role", version: "v7", metadata: { name: "newer" }, spec: { allow: { logins: ["root"] } } };
  await t.admin.putResource({ json: JSON.stringify(plain) });
  const [held, other] = [await addUser(t, "alice", { roles: ["newer"] }), await addUser(t, "bob", { roles: ["access"] })];
  const alice = await loggedIn(t, held);
  const storage = openSqlite({ path: join(t.dataDir, "auth", "state.sqlite") });
  const newer = { ...plain, spec: { allow: { db_labels: { "*": "*" } }, deny: { logins: ["root"] } } };
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
