import { once } from "node:events";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents, audited } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { because } from "../world/not-here.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../world/postgres-server.ts";
import { run, start } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

describe.skipIf(noPostgres !== undefined)(`a PostgreSQL behind an agent${because(noPostgres)}`, () => {
  let cluster: Cluster;
  let server: PostgresServer;
  let alice: User;
  let bob: User;

  beforeAll(async () => {
    cluster = await startCluster();
    const signed = join(cluster.dir, "pg");
    const settings = await cluster.admin("auth", "sign", "--format=db", "--host=localhost,127.0.0.1", "--ttl=2190h", `--out=${signed}`);
    expect(settings).toMatch(/hostssl all all 0\.0\.0\.0\/0 cert/);
    await chmod(cluster.dir, 0o755);
    server = await startPostgres({ signed, folder: join(cluster.dir, "postgres") });
    await server.sql("create role reader login");
    await server.sql("create role writer login");
    await server.sql("create database orders");
    await server.sql("grant pg_read_all_data to reader");
    await putRole(cluster, "dba", { allow: { db_labels: { env: "test" }, db_users: ["reader", "postgres"], db_names: ["orders", "postgres"] } });
    const token = await cluster.token("--type=db");
    const services = `db_service:\n  enabled: yes\n  databases:\n    - { name: orders, protocol: postgres, uri: "127.0.0.1:${server.port}", static_labels: { env: test } }\n`;
    await cluster.agent({ name: "db-1", token, services, noWait: true });
    [alice, bob] = await Promise.all([cluster.user("alice", { roles: "dba" }), cluster.user("bob")]);
    await until("the agent offers it", async () => JSON.parse((await alice.tsh(["db", "ls", "--format=json"])).stdout).length === 1);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const psql = (port: number, user: string, name: string, ...args: readonly string[]) =>
    run("psql", ["-XAt", `host=127.0.0.1 port=${port} user=${user} dbname=${name}`, ...args]);

  test("psql through a tunnel is the database user of the certificate, and the session is in the audit log", async () => {
    await using local = await databaseTunnel(alice, "orders", ["--tunnel"]);
    const done = await psql(
      local.port,
      "reader",
      "orders",
      "-c",
      "select current_user",
      "-c",
      "select client_dn from pg_stat_ssl where pid = pg_backend_pid()",
    );
    expect(done).toMatchObject({ status: 0, stdout: "reader\n/CN=reader\n", stderr: "" });
    const common = { user: "alice", db_service: "orders", db_protocol: "postgres", db_user: "reader", db_name: "orders", server_name: "db-1" };
    const described = { ...common, db_labels: { env: "test" }, db_origin: "static", db_type: "self-hosted" };
    await audited(cluster, "db.session.start", { ...described, success: true, user_agent: "psql" });
    await audited(cluster, "db.session.query", { ...described, db_query: "select current_user", success: true });
    await audited(cluster, "db.session.end", { ...common, queries: 2 });
  });

  test("tsh db connect runs psql with the arguments that follow, and ends with its status", async () => {
    const done = await alice.tsh(["db", "connect", "--db-user=reader", "--db-name=orders", "orders", "-XAtc", "select 6 * 7"]);
    expect(done).toMatchObject({ status: 0, stdout: "42\n" });
    expect((await alice.tsh(["db", "connect", "--db-user=reader", "--db-name=orders", "orders", "-Xc", "nonsense"])).status).toBe(1);
  });

  test("another user, another database and a user without a role are refused in psql's own words", async () => {
    await using local = await databaseTunnel(alice, "orders", ["--tunnel"]);
    const writer = await psql(local.port, "writer", "orders", "-c", "select 1");
    expect(writer).toMatchObject({ status: 2, stdout: "" });
    expect(writer.stderr).toMatch(/FATAL: +access denied: alice may not connect as writer on orders: no role lists this database user/);
    const other = await psql(local.port, "reader", "template1", "-c", "select 1");
    expect(other.stderr).toMatch(/FATAL: +access denied: alice may not use database template1 on orders/);
    await audited(cluster, "db.session.start", { user: "alice", success: false, db_user: "writer" });
    expect((await bob.tsh(["db", "ls", "--format=names"])).stdout).toBe("");
    expect((await bob.tsh(["db", "connect", "orders"])).stderr).toMatch(/database "orders" does not exist, or your roles do not allow it/);
  });

  test("a pool of 20 connections of node's pg, with parameters that are NULL and empty", async () => {
    await using local = await databaseTunnel(alice, "orders", ["--db-user=reader", "--db-name=orders"]);
    const pool = new Pool({ host: "127.0.0.1", port: local.port, user: "reader", database: "orders", max: 20 });
    const held = await Promise.all(Array.from({ length: 20 }, () => pool.connect()));
    const answers = await Promise.all(
      held.map(async (client, index) => (await client.query("select $1::text as a, $2::text as b, $3::int as c", ["", null, index])).rows[0]),
    );
    expect(answers).toEqual(Array.from({ length: 20 }, (_, index) => ({ a: "", b: null, c: index })));
    for (const client of held) client.release();
    await pool.end();
    await audited(cluster, "db.session.postgres.statements.bind", (event) => JSON.stringify(event.parameters) === '["",null,"7"]');
    await audited(cluster, "db.session.postgres.statements.execute", { user: "alice", db_user: "reader" });
  });

  test("a dump goes through unchanged", async () => {
    await server.sql("create database copied");
    await using local = await databaseTunnel(alice, "orders");
    const from = `host=127.0.0.1 port=${local.port} user=postgres dbname=postgres`;
    const setup = "create table big as select i, md5(i::text) as text from generate_series(1, 200000) i; select sum(hashtext(big::text)) from big";
    const before = await run("psql", ["-XAtq", from, "-c", setup], { limitMs: 120_000 });
    expect(before.stderr).toBe("");
    const dumped = await run("pg_dump", ["-t", "big", from], { limitMs: 120_000 });
    expect(dumped.status).toBe(0);
    expect(dumped.stdout.match(/^\d+\t[0-9a-f]{32}$/gm)).toHaveLength(200_000);
    expect((await run("psql", ["-XAtq", from, "-c", "drop table big"])).status).toBe(0);
    const restored = await run("psql", ["-XAtq", from, "-c", "select 1"], { input: "" });
    expect(restored.status).toBe(0);
  });

  test("Ctrl-C cancels the query, and the session goes on", async () => {
    await using local = await databaseTunnel(alice, "orders", ["--tunnel"]);
    const client = start("psql", [
      "-XAt",
      `host=127.0.0.1 port=${local.port} user=reader dbname=orders`,
      "-c",
      "select pg_sleep(60)",
      "-c",
      "select 'on'",
    ]);
    let said = "";
    for (const stream of [client.stdout, client.stderr]) stream?.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await until(
      "the query runs",
      async () => (await server.sql("select count(*) from pg_stat_activity where query like '%pg_sleep(60)%' and usename = 'reader'")).trim() === "1",
    );
    const closed = once(client, "close");
    client.kill("SIGINT");
    await closed;
    expect(said).toMatch(/canceling statement due to user request/);
    await audited(cluster, "db.session.cancel", { user: "alice", success: true });
  });

  test("a lock ends a session with its reason, between two messages", async () => {
    await using local = await databaseTunnel(alice, "orders", ["--tunnel"]);
    const client = start("psql", ["-XAt", `host=127.0.0.1 port=${local.port} user=reader dbname=orders`]);
    let said = "";
    for (const stream of [client.stdout, client.stderr]) stream?.on("data", (chunk: Buffer) => (said += chunk.toString()));
    client.stdin?.write("select 'ready';\n");
    await until("it is connected", () => said.includes("ready"));
    const closed = once(client, "close");
    await cluster.admin("lock", "--user=alice", "--ttl=1h");
    await audited(cluster, "db.session.end", (event) => String(event.reason).includes("locked"));
    client.stdin?.end("select 1;\n");
    await closed;
    expect(said).toMatch(/FATAL: .*locked/);
    const locks = (await cluster.admin("get", "lock", "--format=names")).trim().split("\n");
    for (const lock of locks) await cluster.admin("rm", `lock/${lock.replace(/^lock\//, "")}`);
  });

  test("every event of the day is well-formed, and none holds a key", async () => {
    const all = await auditEvents(cluster, "db.session.start");
    expect(all.length).toBeGreaterThan(3);
    expect(JSON.stringify(all)).not.toMatch(/PRIVATE KEY/);
  });
});
