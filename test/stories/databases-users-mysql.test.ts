import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accountAdmin, makesAccounts, offerAccounts, userWith } from "../world/account-world.ts";
import { audited } from "../world/audited.ts";
import type { User } from "../world/cluster-user.ts";
import { type Mariadb, noMariadb, startMariadb } from "../world/database-servers.ts";
import { DatabaseWorld } from "../world/database-world.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { type Mysql, startMysql } from "../world/sid-servers.ts";
import { until } from "../world/until.ts";

const mysqlServers = [
  {
    title: "MariaDB",
    name: "shop-mariadb",
    rights: `grant create user, process on *.* to '${accountAdmin}'; grant select (user, host, default_role) on mysql.user to '${accountAdmin}'; grant select on mysql.roles_mapping to '${accountAdmin}'; grant readers to '${accountAdmin}' with admin option`,
  },
  {
    title: "MySQL",
    name: "shop-mysql",
    rights: `grant create user, process, role_admin on *.* to '${accountAdmin}'; grant select (user, host, account_locked) on mysql.user to '${accountAdmin}'; grant select on mysql.role_edges to '${accountAdmin}'`,
  },
] as const;

describe("accounts that agents make at MariaDB and MySQL", () => {
  let world: DatabaseWorld;
  const servers = new Map<string, Mariadb | Mysql | NotHere>();
  let alice: User;
  let bob: User;
  let carol: User;

  beforeAll(async () => {
    world = await DatabaseWorld.open();
    const signed = await world.sign("mysql");
    servers.set("shop-mariadb", noMariadb ?? (await startMariadb({ signed, folder: world.folder("mariadb") })));
    servers.set("shop-mysql", await ifPossible(() => startMysql({ signed, folder: world.folder("mysql") })));
    const databases: { name: string; protocol: string; port: number }[] = [];
    for (const { name, rights } of mysqlServers) {
      const server = servers.get(name);
      if (server === undefined || server instanceof NotHere) continue;
      world.use(server);
      await server.sql(
        `create user '${accountAdmin}' require subject '/CN=${accountAdmin}'; create role readers; create database shop; grant select on shop.* to readers`,
      );
      await server.sql(`${rights}; create user carol require subject '/CN=carol'; create table shop.t (i int); insert into shop.t values (7)`);
      databases.push({ name, protocol: "mysql", port: server.port });
    }
    await offerAccounts(world, "db-1", databases);
    [alice, bob, carol] = [
      await userWith(world, "alice", makesAccounts(["readers"])),
      await userWith(world, "bob-with-a-name-of-more-than-32-characters", makesAccounts(["readers"], "best_effort_drop")),
      await userWith(world, "carol", makesAccounts(["readers"])),
    ];
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  const query = async (user: User, name: string, sql: string) => await user.tsh(["db", "connect", name, "-BNe", sql]);

  describe.each(mysqlServers)("$title", ({ name, title }) => {
    const need = (skip: (note: string) => never): Mariadb | Mysql => {
      const server = servers.get(name);
      return server === undefined || server instanceof NotHere ? skip(server?.message ?? "it is not here") : server;
    };
    const accounts = async (server: Mariadb | Mysql, user: string): Promise<string> =>
      (await server.sql(`select count(*) from mysql.user where user = '${user}'`)).trim();

    test("made for the session with its role in force, locked after it, and let in again", async ({ skip }) => {
      const server = need(skip);
      for (const round of [1, 2]) {
        expect(await query(alice, name, "select current_user(); select i from shop.t"), String(round)).toMatchObject({
          status: 0,
          stdout: "alice@%\n7\n",
        });
        await until("it is locked", async () => (await server.sql("show create user alice")).includes("ACCOUNT LOCK") || undefined);
      }
      const common = { user: "alice", db_service: name, username: "alice", success: true };
      await audited(world.cluster, "db.session.user.create", { ...common, roles: ["readers"] });
      await audited(world.cluster, "db.session.user.deactivate", { ...common, delete: false });
    });

    test("dropped after the session, where a name of that length can be an account", async ({ skip }) => {
      const server = need(skip);
      const done = await query(bob, name, "select i from shop.t");
      if (title === "MySQL") expect(done.stderr).toMatch(/cannot be the name of an account of MySQL: it has 42 characters; 32 are the most/);
      else expect(done).toMatchObject({ status: 0, stdout: "7\n" });
      await until("it is gone", async () => (await accounts(server, bob.name)) === "0" || undefined);
    });

    test("an account that somebody else has made is refused, and stays as it is", async ({ skip }) => {
      const server = need(skip);
      expect((await query(carol, name, "select 1")).stderr).toMatch(/ERROR 1045 .*the account carol is at the server already/);
      expect(await server.sql("show create user carol")).not.toContain("ACCOUNT LOCK");
    });
  });
});
