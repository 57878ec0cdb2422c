import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { program, run } from "../world/program.ts";

/** `tctl` away from the auth host: with the credentials of `tsh login`, and what that user's roles allow. */
describe("tctl away from the auth host", () => {
  let cluster: Cluster;
  let editor: User;
  let user: User;
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.agent({ name: "web-1" });
    editor = await cluster.user("erin", { roles: "editor" });
    user = await cluster.user("alice");
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });
  const tctl = (who: User, args: readonly string[], input?: string) =>
    run(program("tctl"), args, {
      env: { TSH_HOME: who.home, PLATFORM_DATA_DIR: join(cluster.dir, "nowhere") },
      ...(input !== undefined && { input }),
    });

  test("an editor manages users, roles and tokens", async () => {
    expect((await tctl(editor, ["status"])).stdout).toMatch(/test\.cluster/);
    expect((await tctl(editor, ["users", "add", "bob", "--roles=access", "--logins=root"])).stdout).toMatch(/\/web\/invite\/[0-9a-f]+/);
    const role = JSON.stringify({
      kind: "role",
      version: "v7",
      metadata: { name: "ops" },
      spec: { allow: { logins: ["root"], node_labels: { "*": "*" } } },
    });
    expect((await tctl(editor, ["create", "-"], role)).status).toBe(0);
    expect((await tctl(editor, ["create", "-"], role)).status).toBe(6);
    expect((await tctl(editor, ["create", "-f", "-"], role)).status).toBe(0);
    expect((await tctl(editor, ["users", "update", "bob", "--set-roles=access,ops"])).status).toBe(0);
    const bob = JSON.parse((await tctl(editor, ["get", "user/bob", "--format=json"])).stdout) as { spec: { roles: string[] } };
    expect(bob.spec.roles).toEqual(["access", "ops"]);
    const refused = await tctl(editor, ["rm", "role/ops"]);
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toMatch(/bob/);
    expect((await tctl(editor, ["users", "rm", "bob"])).status).toBe(0);
    expect((await tctl(editor, ["rm", "role/ops"])).status).toBe(0);
    expect((await tctl(editor, ["tokens", "add", "--type=node"])).stdout).toMatch(/[0-9a-f]{32}/);
  });

  test("a user without the rule gets the name of the missing one, and it is audited", async () => {
    const done = await tctl(user, ["users", "ls"]);
    expect(done.status).toBe(4);
    expect(done.stderr).toMatch(/role access does not allow alice to list user/);
    expect(await cluster.admin("audit", "ls", "--format=json", "--user=alice")).toMatch(/access\.denied|denied/);
  });

  test("a removed host is cut off and may not come back with its old certificate", async () => {
    const nodes = JSON.parse((await tctl(editor, ["get", "node", "--format=json"])).stdout) as { metadata: { name: string } }[];
    expect((await tctl(editor, ["nodes", "rm", nodes[0]?.metadata.name as string])).status).toBe(0);
    const done = await user.tsh(["ssh", "root@web-1", "id"]);
    expect(done.status).not.toBe(0);
    expect((await user.tsh(["ls", "--format=json"])).stdout).not.toContain("web-1");
  });

  test("without an admin file and without a login, it explains what to do", async () => {
    const done = await run(program("tctl"), ["users", "ls"], {
      env: { TSH_HOME: join(cluster.dir, "nobody"), PLATFORM_DATA_DIR: join(cluster.dir, "nowhere") },
    });
    expect(done.status).toBe(3);
    expect(done.stderr).toMatch(/tsh login/);
  });
});
