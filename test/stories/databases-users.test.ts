import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accountAdmin, makesAccounts, offerAccounts, userWith } from "../world/account-world.ts";
import { audited } from "../world/audited.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { DatabaseWorld } from "../world/database-world.ts";
import { embeddedPostgres } from "../world/embedded-postgres.ts";
import { type HeldSession, holdSession } from "../world/held-session.ts";
import { because, ifPossible, NotHere } from "../world/not-here.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../world/postgres-server.ts";
import { putRole } from "../world/put-role.ts";
import { until } from "../world/until.ts";

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

describe.skipIf(noPostgres !== undefined).each([
  { title: "PostgreSQL of Debian", native: async () => undefined },
  { title: "PostgreSQL 18", native: () => ifPossible(embeddedPostgres) },
])(`accounts that agents make at $title${because(noPostgres)}`, ({ native }) => {
  let world: DatabaseWorld;
  let server: PostgresServer | NotHere;
  let first: Agent;
  let second: Agent;
  let alice: User;
  let bob: User;

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
    await started.sql(`create role "${accountAdmin}" login createrole`);
    await started.sql("create role readers");
    await started.sql("create role writers");
    await started.sql(`grant readers, writers to "${accountAdmin}" with admin option`);
    await started.sql("create role carol login");
    await started.sql("create database orders");
    const databases = [{ name: "orders", protocol: "postgres", port: started.port }];
    [first, second] = [await offerAccounts(world, "db-1", databases), await offerAccounts(world, "db-2", databases)];
    [alice, bob] = [await userWith(world, "alice", makesAccounts(["readers"])), await userWith(world, "bob", makesAccounts([]))];
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
    await audited(world.cluster, "db.session.end", { user: "alice", db_user: "alice", db_roles: ["readers"] });
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
    for (const name of ["carol", accountAdmin]) {
      const other = await alice.tsh(["db", "connect", `--db-user=${name}`, "--db-name=orders", "orders", "-c", "select 1"]);
      expect(other.stderr, name).toMatch(/may connect to orders as alice only/);
    }
    const carol = await userWith(world, "carol", makesAccounts(["readers"]));
    const foreign = await query(carol, "select 1");
    expect(foreign.stderr).toMatch(/FATAL: .*the account carol is at the server already, and no agent has made it/);
    await audited(world.cluster, "db.session.user.create", { user: "carol", success: false, code: "TDB08W" });
    expect(await account("carol")).toBe("t|");
  });

  test("several sessions over two agents: the last one disables it; other roles wait until nobody is connected", async ({ skip }) => {
    need(skip);
    const all = await Promise.all(Array.from({ length: 6 }, () => held(alice, "orders")));
    expect(await account("alice")).toBe("t|platform-auto-user,readers");
    await putRole(world.cluster, "of-alice", makesAccounts(["writers"]));
    await until("the roles have changed", async () => (await query(alice, "select 1")).stderr.includes("other roles") || undefined);
    for (const session of all.slice(1)) await ended(session);
    expect(await account("alice")).toBe("t|platform-auto-user,readers");
    await ended(all[0]);
    await becomes("alice", "f|platform-auto-user");
    expect((await query(alice, "select pg_has_role('writers', 'member')")).stdout).toBe("t\n");
    await putRole(world.cluster, "of-alice", makesAccounts(["readers"]));
  });

  test("a fault of admin_user stands in the admin's list with the server's words, until an account was made again", async ({ skip }) => {
    const { sql } = need(skip);
    const listed = async (): Promise<string> => await world.cluster.admin("db", "ls");
    await sql(`alter role "${accountAdmin}" nologin`);
    expect((await query(alice, "select 1")).stderr).toContain("could not make the account alice");
    const fault = new RegExp(
      `^Faulty +Agent on Reason$[^]*^orders +db-[12] +admin_user ${accountAdmin}: the server refused the login: .*SQLSTATE 28000`,
      "m",
    );
    await until("the fault is listed", async () => fault.test(await listed()) || undefined);
    await sql(`alter role "${accountAdmin}" login`);
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
    await putRole(world.cluster, "of-bob", makesAccounts([], "best_effort_drop"));
    await until("the mode has changed", async () => {
      await query(bob, "select 1");
      return (await account("bob")) === "" || undefined;
    });
    await postgres.sql("grant create on database orders to readers");
    await putRole(world.cluster, "of-bob", makesAccounts(["readers"], "best_effort_drop"));
    await until("it has the role", async () => (await query(bob, "create schema of_bob; create table of_bob.t (i int)")).status === 0 || undefined);
    await becomes("bob", "f|platform-auto-user");
    await audited(world.cluster, "db.session.user.deactivate", { user: "bob", delete: true, success: true });
  });

  test("a role that the server does not have: the user learns that an admin has to look, the audit has the reason", async ({ skip }) => {
    need(skip);
    const dan = await userWith(world, "dan", makesAccounts(["nobody"]));
    expect((await query(dan, "select 1")).stderr).toMatch(/FATAL: .*could not make the account dan at database orders/);
    await audited(
      world.cluster,
      "db.session.user.create",
      (event) => event.user === "dan" && String(event.error).includes('role "nobody" does not exist'),
    );
    expect(await account("dan")).toBe("");
  });
});
