import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { createConnection } from "mysql2/promise";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import type { Cluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { noMariadb, noRedis } from "../world/database-servers.ts";
import { DatabaseWorld } from "../world/database-world.ts";
import { listRecordings } from "../world/list-recordings.ts";
import { because } from "../world/not-here.ts";
import { played } from "../world/played.ts";
import { noPostgres } from "../world/postgres-server.ts";
import { output, run } from "../world/program.ts";
import { offerServerOfEach } from "../world/server-of-each.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

/** Runs something, and returns the id of the one recording of this database that came of it, once it is complete. */
async function recorded(cluster: Cluster, resource: string, work: () => Promise<void>): Promise<string> {
  const before = new Set((await listRecordings(cluster)).map(({ sid }) => sid));
  await work();
  const fresh = await until("the recording is complete", async () => {
    const found = (await listRecordings(cluster)).filter((one) => !before.has(one.sid) && one.resource === resource);
    return found.length > 0 && found.every(({ state }) => state === "complete") && found;
  });
  expect(fresh).toMatchObject([{ kind: "db", user: "alice" }]);
  return fresh[0]?.sid ?? "";
}

describe("sessions of databases are recorded", () => {
  let world: DatabaseWorld;
  let cluster: Cluster;
  let alice: User;

  beforeAll(async () => {
    world = await DatabaseWorld.open();
    ({ cluster } = world);
    await offerServerOfEach(world);
    alice = await world.user("alice", { db_users: ["reader"], db_names: ["docs", "admin", "0", "postgres"] });
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  const psql = async (...statements: readonly string[]): Promise<void> => {
    const args = ["db", "connect", "--db-user=reader", "--db-name=postgres", "orders", "-XAt", ...statements.flatMap((one) => ["-c", one])];
    await alice.tsh(args);
  };

  test.skipIf(noPostgres !== undefined)(`psql: statements, rows, errors; in text, JSON and YAML, and from a file${because(noPostgres)}`, async () => {
    const sid = await recorded(
      cluster,
      "orders",
      async () => await psql("select generate_series(1, 3)", "create temp table t (id int)", "select *\nfrom missing"),
    );
    expect(await played(alice, sid)).toEqual([
      "#1 reader@orders/postgres> select generate_series(1, 3)",
      "3 rows",
      "#2 reader@orders/postgres> create temp table t (id int)",
      "CREATE TABLE",
      "#3 reader@orders/postgres> select *",
      "from missing",
      'error 42P01: relation "missing" does not exist',
    ]);
    const json = (await alice.tsh(["play", "--format=json", sid])).stdout.trim().split("\n");
    expect(json.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { number: 1, text: "select generate_series(1, 3)", outcome: "ok", rows: 3, duration: expect.any(Number) },
      { number: 2, outcome: "ok", tag: "CREATE TABLE" },
      { number: 3, outcome: "failed", code: "42P01" },
    ]);
    expect((await alice.tsh(["play", "--format=yaml", sid])).stdout).toMatch(
      /^number: 1\ntime: [\d.]+\nkind: query\ntext: select generate_series\(1, 3\)\n/,
    );
    const own = await alice.tsh(["play", "--format=statements", sid]);
    const file = join(cluster.dir, "session.statements");
    await writeFile(file, own.raw);
    expect(await played(alice, file)).toEqual(await played(alice, sid));
    const kept = join(cluster.dir, "control", "auth", "recordings", `${sid}.statements.gz`);
    expect((await stat(kept)).mode & 0o777).toBe(0o600);
    expect(await output("zcat", [kept])).toBe(own.stdout);
    await audited(cluster, "session.upload", { user: "alice", sid, kind: "db", resource: "orders", interrupted: false });
  });

  test.skipIf(noPostgres !== undefined)(
    `a driver's prepared statement has its parameters, and a failed one its error${because(noPostgres)}`,
    async () => {
      const sid = await recorded(cluster, "orders", async () => {
        await using local = await databaseTunnel(alice, "orders");
        const client = new Client({ host: "127.0.0.1", port: local.port, user: "reader", database: "postgres" });
        await client.connect();
        expect((await client.query("select $1::int + 1 as sum", [41])).rows).toEqual([{ sum: 42 }]);
        await expect(client.query("selec $1", ["x"])).rejects.toThrow(/syntax error/);
        await expect(client.query("select 1 / $1::int", [0])).rejects.toThrow(/division by zero/);
        await client.end();
      });
      const lines = await played(alice, sid);
      expect(lines).toContain("#2 reader@orders/postgres> select $1::int + 1 as sum");
      expect(lines).toContain('parameters: "41"');
      expect(lines.join("\n")).toMatch(/\(prepare\) selec \$1\nerror 42601: syntax error/);
      expect(lines.join("\n")).toMatch(/select 1 \/ \$1::int\nparameters: "0"\nerror 22012: division by zero/);
    },
  );

  test.skipIf(noMariadb !== undefined)(`MariaDB: rows, affected rows, errors, parameters${because(noMariadb)}`, async () => {
    const sid = await recorded(cluster, "shop", async () => {
      await using local = await databaseTunnel(alice, "shop");
      const connection = await createConnection({ host: "127.0.0.1", port: local.port, user: "reader", database: "shop" });
      await connection.query("create table t (id int, name varchar(20))");
      await connection.execute("insert into t values (?, ?), (8, null)", [7, "seven"]);
      await connection.query("select * from t");
      await expect(connection.query("select * from missing")).rejects.toThrow(/doesn't exist/);
      await connection.end();
    });
    const lines = (await played(alice, sid)).join("\n");
    expect(lines).toMatch(/insert into t values \(\?, \?\), \(8, null\)\nparameters: "7", "seven"\n2 rows written\n/);
    expect(lines).toMatch(/> select \* from t\n2 rows\n/);
    expect(lines).toMatch(/> select \* from missing\nerror 1146 \(42S02\): Table 'shop\.missing' doesn't exist/);
  });

  test.skipIf(noRedis !== undefined)(`redis-cli: commands and errors, and no password${because(noRedis)}`, async () => {
    const sid = await recorded(cluster, "cache", async () => {
      await using local = await databaseTunnel(alice, "cache", ["--db-user=reader"]);
      const commands = "SET k v\nINCR k\nGET k\n";
      await run("redis-cli", ["-p", String(local.port), "--no-auth-warning", "--user", "reader", "--pass", "hunter2"], { input: commands });
    });
    const lines = (await played(alice, sid)).join("\n");
    expect(lines).toMatch(/> SET\nparameters: "k", "v"\nok\n/);
    expect(lines).toMatch(/> INCR\nparameters: "k"\nerror ERR: value is not an integer or out of range\n/);
    expect((await alice.tsh(["play", "--format=statements", sid])).stdout).not.toContain("hunter2");
  });

  test("MongoDB (a server of ours): the driver's commands and their results; its connections without a command have no recording", async () => {
    const sid = await recorded(cluster, "docs", async () => {
      await using local = await databaseTunnel(alice, "docs", ["--db-user=reader"]);
      const client = await MongoClient.connect(`mongodb://127.0.0.1:${local.port}/?directConnection=true`, { serverSelectionTimeoutMS: 20_000 });
      const list = client.db("docs").collection("list");
      await list.insertOne({ name: "seven" });
      await list.findOne({ name: "seven" });
      await expect(client.db("payroll").collection("list").findOne({})).rejects.toMatchObject({ code: 13 });
      await client.close();
    });
    const lines = (await played(alice, sid)).join("\n");
    expect(lines).toMatch(/"insert":"list".*\n1 document written\n/);
    expect(lines).toMatch(/"find":"list".*\n1 document\n/);
    expect(lines).toMatch(/"\$db":"payroll".*\nrefused: /);
  });

  test.skipIf(noPostgres !== undefined)(`a recording is for its own user and for auditors${because(noPostgres)}`, async () => {
    const sid = await recorded(cluster, "orders", async () => await psql("select 'mine'"));
    const bob = await cluster.user("bob", { roles: "role-of-alice" });
    const eve = await cluster.user("eve", { roles: "auditor" });
    expect((await bob.tsh(["play", sid])).stderr).toMatch(/access denied/);
    expect((await eve.tsh(["play", sid])).stdout).toContain("select 'mine'");
    await audited(cluster, "session.recording.access", { user: "eve", name: "alice", sid });
    expect(await cluster.admin("recordings", "ls", "--user=alice")).toMatch(new RegExp(`${sid} .* db/orders `));
  });
});
