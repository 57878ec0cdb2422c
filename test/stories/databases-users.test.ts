import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { hasMariadb, type Mariadb, startMariadb } from "../world/database-servers.ts";
import { DatabaseWorld } from "../world/database-world.ts";
import { embeddedPostgres } from "../world/embedded-postgres.ts";
import { type HeldSession, holdSession } from "../world/held-session.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { hasPostgres, type PostgresServer, startPostgres } from "../world/postgres-server.ts";
import { putRole } from "../world/put-role.ts";
import { type Mysql, startMysql } from "../world/sid-servers.ts";
import { until } from "../world/until.ts";

const admin = "platform-admin";
const labels = { env: "test" };

/** An agent that makes accounts at these databases. */
async function offer(world: DatabaseWorld, name: string, databases: readonly { name: string; protocol: string; port: number }[]): Promise<Agent> {
  const entry = ({ name: database, protocol, port }: (typeof databases)[number]): string =>
    `    - { name: ${database}, protocol: ${protocol}, uri: "127.0.0.1:${port}", static_labels: { env: test }, admin_user: { name: ${admin} } }\n`;
  const services = `db_service:\n  enabled: yes\n  databases:\n${databases.map(entry).join("")}`;
  return await world.cluster.agent({ name, token: await world.cluster.token("--type=db"), services, noWait: true });
}

async function userOf(world: DatabaseWorld, name: string, role: object): Promise<User> {
  await putRole(world.cluster, `of-${name}`, role);
  const user = await world.cluster.user(name, { roles: `of-${name}` });
  await until("the agent offers its databases", async () => (await user.tsh(["db", "ls", "--format=names"])).stdout !== "");
  return user;
}

const roleWith = (roles: readonly string[], mode = "keep") => ({
  options: { create_db_user_mode: mode },
  allow: { db_labels: labels, db_names: ["orders", "postgres"], db_roles: roles },
});

const sessions: HeldSession[] = [];
async function held(user: User, database: string): Promise<HeldSession> {
  const session = holdSession(user, ["db", "connect", "--db-name=orders", database, "-XAt"]);
  sessions.push(session);
  session.type("select 'ready';\n");
  await session.until("ready");
  return session;
}
async function ended(session: HeldSession | undefined): Promise<void> {
  session?.type("\\q\n");
  await session?.ended;
}

describe.skipIf(!hasPostgres).each([
  { title: "PostgreSQL of Debian", native: async () => undefined },
  { title: "PostgreSQL 18", native: () => ifPossible(embeddedPostgres) },
])("accounts that agents make at $title", ({ native }) => {
  let world: DatabaseWorld;
  let server: PostgresServer | NotHere;
  let [first, second] = [] as unknown as readonly [Agent, Agent];
  let [alice, bob] = [] as unknown as readonly [User, User];

  beforeAll(async () => {
    const programs = await native();
    if (programs instanceof NotHere) {
      server = programs;
      return;
    }
    world = await DatabaseWorld.open();
    const files = { signed: await world.sign("db"), folder: world.folder("pg"), ...(programs !== undefined && { native: programs }) };
    const started = world.use(await startPostgres(files));
    server = started;
    await started.sql(`create role "${admin}" login createrole`);
    await started.sql("create role readers");
    await started.sql("create role writers");
    await started.sql(`grant readers, writers to "${admin}" with admin option`);
    await started.sql("create role carol login");
    await started.sql("create database orders");
    const databases = [{ name: "orders", protocol: "postgres", port: started.port }];
    [first, second] = [await offer(world, "db-1", databases), await offer(world, "db-2", databases)];
    [alice, bob] = [await userOf(world, "alice", roleWith(["readers"])), await userOf(world, "bob", roleWith([]))];
    await until("both agents offer it", async () => (await alice.tsh(["db", "ls", "--format=json"])).stdout.includes("db-2"));
  });
  afterAll(async () => {
    for (const session of sessions.splice(0)) await session[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });
  const need = (skip: (note: string) => never): PostgresServer => (server instanceof NotHere ? skip(server.message) : server);
  const account = async (name: string): Promise<string> => {
    const roles =
      "select string_agg(g.rolname, ',' order by g.rolname) from pg_auth_members m join pg_roles g on g.oid = m.roleid where m.member = r.oid";
    if (server instanceof NotHere) throw server;
    return (await server.sql(`select rolcanlogin, (${roles}) from pg_roles r where rolname = '${name}'`)).trim();
  };
  const query = async (user: User, sql: string) => await user.tsh(["db", "connect", "--db-name=orders", "orders", "-XAtc", sql]);
  const becomes = (name: string, state: string) => until(`${name} is ${state}`, async () => (await account(name)) === state || undefined);

  test("a session without an account: made for it with its roles, shown in the list, disabled after it, all of it audited", async ({ skip }) => {
    need(skip);
    expect((await alice.tsh(["db", "ls"])).stdout).toContain("alice (auto-provisioned)");
    expect(await account("alice")).toBe("");
    const done = await query(alice, "select current_user, pg_has_role('readers', 'member'), pg_has_role('writers', 'member')");
    expect(done).toMatchObject({ status: 0, stdout: "alice|t|f\n" });
    await becomes("alice", "f|platform-auto-user");
    const common = { user: "alice", db_service: "orders", db_user: "alice", username: "alice", success: true };
    await audited(world.cluster, "db.session.user.create", { ...common, roles: ["readers"], code: "TDB08I" });
    await audited(world.cluster, "db.session.user.deactivate", { ...common, delete: false, code: "TDB09I" });
    await audited(world.cluster, "db.session.end", { user: "alice", db_user: "alice" });
  });

  test("roles at the server from the user's traits, as tctl sets them", async ({ skip }) => {
    need(skip);
    const { admin: tctl } = world.cluster;
    const traits = async (): Promise<unknown> => {
      const read = JSON.parse(await tctl("get", "user/eve", "--format=json")) as unknown;
      return [read].flat()[0];
    };
    await tctl("users", "add", "eve", "--roles=access", "--db-users=reader,writer", "--db-names=orders", "--db-roles=readers");
    expect(await traits()).toMatchObject({ spec: { traits: { db_users: ["reader", "writer"], db_names: ["orders"], db_roles: ["readers"] } } });
    await tctl("users", "update", "eve", "--set-db-roles=writers,readers");
    expect(await traits()).toMatchObject({ spec: { traits: { db_names: ["orders"], db_roles: ["writers", "readers"] } } });
  });

  test("no other account, and none that somebody else has made; both in psql's words", async ({ skip }) => {
    need(skip);
    for (const name of ["carol", admin]) {
      const other = await alice.tsh(["db", "connect", `--db-user=${name}`, "--db-name=orders", "orders", "-c", "select 1"]);
      expect(other.stderr, name).toMatch(/may connect to orders as alice only/);
    }
    const carol = await userOf(world, "carol", roleWith(["readers"]));
    const foreign = await query(carol, "select 1");
    expect(foreign.stderr).toMatch(/FATAL: .*the account carol is at the server already, and no agent has made it/);
    await audited(world.cluster, "db.session.user.create", { user: "carol", success: false, code: "TDB08W" });
    expect(await account("carol")).toBe("t|");
  });

  test("several sessions over two agents: the last one disables it; other roles wait until nobody is connected", async ({ skip }) => {
    need(skip);
    const all = await Promise.all(Array.from({ length: 6 }, () => held(alice, "orders")));
    expect(await account("alice")).toBe("t|platform-auto-user,readers");
    await putRole(world.cluster, "of-alice", roleWith(["writers"]));
    await until("the roles have changed", async () => (await query(alice, "select 1")).stderr.includes("other roles") || undefined);
    for (const session of all.slice(1)) await ended(session);
    expect(await account("alice")).toBe("t|platform-auto-user,readers");
    await ended(all[0]);
    await becomes("alice", "f|platform-auto-user");
    expect((await query(alice, "select pg_has_role('writers', 'member')")).stdout).toBe("t\n");
    await putRole(world.cluster, "of-alice", roleWith(["readers"]));
  });

  test("a fault of admin_user stands in the admin's list with the server's words, until an account was made again", async ({ skip }) => {
    const { sql } = need(skip);
    const listed = async (): Promise<string> => await world.cluster.admin("db", "ls");
    await sql(`alter role "${admin}" nologin`);
    expect((await query(alice, "select 1")).stderr).toContain("could not make the account alice");
    const fault = new RegExp(
      `^Faulty +Agent on Reason$[^]*^orders +db-[12] +admin_user ${admin}: the server refused the login: .*SQLSTATE 28000`,
      "m",
    );
    await until("the fault is listed", async () => fault.test(await listed()) || undefined);
    await sql(`alter role "${admin}" login`);
    await until("each agent has made an account again", async () => {
      await query(alice, "select 1");
      return !(await listed()).includes("Faulty") || undefined;
    });
  });

  test("an agent that is killed leaves the account; the next session of anybody finds it", async ({ skip }) => {
    need(skip);
    const session = await held(alice, "orders");
    await Promise.all([first.service.kill(), second.service.kill()]);
    // psql learns of it with its next query.
    session.type("select 1;\n\\q\n");
    await session.ended;
    expect(await account("alice")).toMatch(/^t\|/);
    first.start();
    await until("bob is let in", async () => (await query(bob, "select current_user")).stdout === "bob\n" || undefined);
    await becomes("alice", "f|platform-auto-user");
    second.start();
  });

  test("an agent that stops ends its sessions and disables their accounts", async ({ skip }) => {
    need(skip);
    await until("alice is let in", async () => (await query(alice, "select current_user")).stdout === "alice\n" || undefined);
    const session = await held(alice, "orders");
    expect(await account("alice")).toBe("t|platform-auto-user,readers");
    // Sessions have ten seconds to end by themselves.
    for (const { service } of [first, second]) process.kill(service.pid, "SIGTERM");
    await until("both have ended", () => (first.service.exited && second.service.exited) || undefined);
    expect(await account("alice")).toBe("f|platform-auto-user");
    session.type("select 1;\n\\q\n");
    await session.ended;
    first.start();
    second.start();
    await until("alice is let in again", async () => (await query(alice, "select current_user")).stdout === "alice\n" || undefined);
  });

  test("best_effort_drop: dropped, but disabled where it owns a table", async ({ skip }) => {
    const postgres = need(skip);
    await putRole(world.cluster, "of-bob", roleWith([], "best_effort_drop"));
    await until("the mode has changed", async () => {
      await query(bob, "select 1");
      return (await account("bob")) === "" || undefined;
    });
    await postgres.sql("grant create on database orders to readers");
    await putRole(world.cluster, "of-bob", roleWith(["readers"], "best_effort_drop"));
    await until("it has the role", async () => (await query(bob, "create schema of_bob; create table of_bob.t (i int)")).status === 0 || undefined);
    await becomes("bob", "f|platform-auto-user");
    await audited(world.cluster, "db.session.user.deactivate", { user: "bob", delete: true, success: true });
  });

  test("a role that the server does not have: the user learns that an admin has to look, the audit has the reason", async ({ skip }) => {
    need(skip);
    const dan = await userOf(world, "dan", roleWith(["nobody"]));
    expect((await query(dan, "select 1")).stderr).toMatch(/FATAL: .*could not make the account dan at database orders/);
    await audited(
      world.cluster,
      "db.session.user.create",
      (event) => event.user === "dan" && String(event.error).includes('role "nobody" does not exist'),
    );
    expect(await account("dan")).toBe("");
  });
});

const mysqlServers = [
  {
    title: "MariaDB",
    name: "shop-mariadb",
    rights: `grant create user, process on *.* to '${admin}'; grant select (user, host, default_role) on mysql.user to '${admin}'; grant select on mysql.roles_mapping to '${admin}'; grant readers to '${admin}' with admin option`,
  },
  {
    title: "MySQL",
    name: "shop-mysql",
    rights: `grant create user, process, role_admin on *.* to '${admin}'; grant select (user, host, account_locked) on mysql.user to '${admin}'; grant select on mysql.role_edges to '${admin}'`,
  },
] as const;

describe("accounts that agents make at MariaDB and MySQL", () => {
  let world: DatabaseWorld;
  const servers = new Map<string, Mariadb | Mysql | NotHere>();
  let [alice, bob, carol] = [] as unknown as readonly [User, User, User];

  beforeAll(async () => {
    world = await DatabaseWorld.open();
    const signed = await world.sign("mysql");
    const without = new NotHere("MariaDB needs root and Debian's mariadb-server");
    servers.set("shop-mariadb", hasMariadb ? await startMariadb({ signed, folder: world.folder("mariadb") }) : without);
    servers.set("shop-mysql", await ifPossible(() => startMysql({ signed, folder: world.folder("mysql") })));
    const databases: { name: string; protocol: string; port: number }[] = [];
    for (const { name, rights } of mysqlServers) {
      const server = servers.get(name);
      if (server === undefined || server instanceof NotHere) continue;
      world.use(server);
      await server.sql(
        `create user '${admin}' require subject '/CN=${admin}'; create role readers; create database shop; grant select on shop.* to readers`,
      );
      await server.sql(`${rights}; create user carol require subject '/CN=carol'; create table shop.t (i int); insert into shop.t values (7)`);
      databases.push({ name, protocol: "mysql", port: server.port });
    }
    await offer(world, "db-1", databases);
    [alice, bob, carol] = [
      await userOf(world, "alice", roleWith(["readers"])),
      await userOf(world, "bob-with-a-name-of-more-than-32-characters", roleWith(["readers"], "best_effort_drop")),
      await userOf(world, "carol", roleWith(["readers"])),
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
