import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { createConnection } from "mysql2/promise";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import { type Cluster, type ClusterOptions, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { type DatabaseServer, hasMariadb, hasRedis, type Mariadb, startMariadb, startRedis } from "../world/database-servers.ts";
import { databaseTunnel } from "../world/database-tunnel.ts";
import { listRecordings } from "../world/list-recordings.ts";
import { MongoServer } from "../world/mongo-server.ts";
import { hasPostgres, type PostgresServer, startPostgres } from "../world/postgres-server.ts";
import { output, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { until } from "../world/until.ts";

const isRoot = process.getuid?.() === 0;

async function sign(cluster: Cluster, format: string): Promise<string> {
  const out = join(cluster.dir, format);
  await cluster.admin("auth", "sign", `--format=${format}`, "--host=127.0.0.1,localhost", "--ttl=2190h", `--out=${out}`);
  return out;
}

const entry = (name: string, protocol: string, port: number | undefined): string =>
  port === undefined ? "" : `    - { name: ${name}, protocol: ${protocol}, uri: "127.0.0.1:${port}", static_labels: { env: test } }\n`;

const services = (list: string): string => `db_service:\n  enabled: yes\n  databases:\n${list}`;

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

/** The lines without their times. */
async function played(user: User, sid: string): Promise<string[]> {
  const done = await user.tsh(["play", sid]);
  expect(done).toMatchObject({ status: 0, stderr: "" });
  const lines = done.stdout.trimEnd().split("\n");
  return lines.slice(1).map((line) => line.replace(/^\S* +/, "").replace(/ \(\d[\d.]* m?s\)$/, ""));
}

describe("sessions of databases are recorded", () => {
  let cluster: Cluster;
  let postgres: PostgresServer | undefined;
  let mariadb: Mariadb | undefined;
  let redis: DatabaseServer | undefined;
  let mongo: MongoServer;
  let alice: User;

  beforeAll(async () => {
    cluster = await startCluster();
    await chmod(cluster.dir, 0o755);
    const [forPostgres, forMysql, forRedis, forMongo] = [
      await sign(cluster, "db"),
      await sign(cluster, "mysql"),
      await sign(cluster, "redis"),
      await sign(cluster, "mongodb"),
    ];
    postgres = hasPostgres ? await startPostgres({ signed: forPostgres, folder: join(cluster.dir, "p") }) : undefined;
    await postgres?.sql("create role reader login");
    mariadb = hasMariadb ? await startMariadb({ signed: forMysql, folder: join(cluster.dir, "m") }) : undefined;
    await mariadb?.sql("create user reader require subject '/CN=reader'; create database shop; grant all on shop.* to reader");
    redis = hasRedis ? await startRedis({ signed: forRedis, folder: join(cluster.dir, "r") }, ["user reader on >hunter2 ~* &* +@all"]) : undefined;
    const pem = await readFile(`${forMongo}.crt`);
    mongo = new MongoServer({ tls: { key: pem, cert: pem, ca: await readFile(`${forMongo}.cas`) }, accounts: ["CN=reader"] });
    await mongo.open();
    await putRole(cluster, "dev", { allow: { db_labels: { env: "test" }, db_users: ["reader"], db_names: ["docs", "admin", "0", "postgres"] } });
    const list =
      entry("orders", "postgres", postgres?.port) +
      entry("shop", "mysql", mariadb?.port) +
      entry("cache", "redis", redis?.port) +
      entry("docs", "mongodb", mongo.port);
    await cluster.agent({ name: "db-1", token: await cluster.token("--type=db"), services: services(list), noWait: true });
    alice = await cluster.user("alice", { roles: "dev" });
    await until("the agent offers them", async () => (await alice.tsh(["db", "ls", "--format=names"])).stdout.includes("docs"));
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await postgres?.[Symbol.asyncDispose]();
    await mariadb?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
    await mongo?.[Symbol.asyncDispose]();
  });

  const psql = async (...statements: readonly string[]): Promise<void> => {
    const args = ["db", "connect", "--db-user=reader", "--db-name=postgres", "orders", "-XAt", ...statements.flatMap((one) => ["-c", one])];
    await alice.tsh(args);
  };

  test.skipIf(!hasPostgres)("psql: statements, rows, errors; in text, JSON and YAML, and from a file", async () => {
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

  test.skipIf(!hasPostgres)("a driver's prepared statement has its parameters, and a failed one its error", async () => {
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
  });

  test.skipIf(!hasMariadb)("MariaDB: rows, affected rows, errors, parameters", async () => {
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

  test.skipIf(!hasRedis)("redis-cli: commands and errors, and no password", async () => {
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

  test.skipIf(!hasPostgres)("a recording is for its own user and for auditors", async () => {
    const sid = await recorded(cluster, "orders", async () => await psql("select 'mine'"));
    const bob = await cluster.user("bob", { roles: "dev" });
    const eve = await cluster.user("eve", { roles: "auditor" });
    expect((await bob.tsh(["play", sid])).stderr).toMatch(/access denied/);
    expect((await eve.tsh(["play", sid])).stdout).toContain("select 'mine'");
    await audited(cluster, "session.recording.access", { user: "eve", name: "alice", sid });
    expect(await cluster.admin("recordings", "ls", "--user=alice")).toMatch(new RegExp(`${sid} .* db/orders `));
  });
});

describe.skipIf(!hasPostgres || !isRoot)("sessions of databases that must be recorded", () => {
  interface World extends AsyncDisposable {
    readonly cluster: Cluster;
    readonly alice: User;
  }

  /** A PostgreSQL behind an agent whose folder of recordings is a small disk. */
  async function world(options: ClusterOptions, record: "strict" | "best_effort"): Promise<World & { readonly spool: string }> {
    const cluster = await startCluster(options);
    await chmod(cluster.dir, 0o755);
    const server = await startPostgres({ signed: await sign(cluster, "db"), folder: join(cluster.dir, "p") });
    await server.sql("create role reader login");
    const spool = join(cluster.dir, "agent-db-1", "data", "agent", "recordings");
    await mkdir(spool, { recursive: true, mode: 0o700 });
    await output("mount", ["-t", "tmpfs", "-o", "size=512k", "tmpfs", spool]);
    const allow = { db_labels: { env: "test" }, db_users: ["reader"], db_names: ["postgres"] };
    await putRole(cluster, "dev", { allow, options: { record_session: { default: record } } });
    const token = await cluster.token("--type=db");
    await cluster.agent({ name: "db-1", token, services: services(entry("orders", "postgres", server.port)), noWait: true });
    const alice = await cluster.user("alice", { roles: "dev" });
    await until("the agent offers it", async () => (await alice.tsh(["db", "ls", "--format=names"])).stdout.includes("orders"));
    return {
      cluster,
      alice,
      spool,
      [Symbol.asyncDispose]: async () => {
        await output("umount", ["-l", spool]);
        await server[Symbol.asyncDispose]();
        await cluster[Symbol.asyncDispose]();
      },
    };
  }

  /** A client, and the reason for the end of its connection. */
  async function connected(port: number): Promise<{ readonly client: Client; readonly ended: Promise<Error> }> {
    const client = new Client({ host: "127.0.0.1", port, user: "reader", database: "postgres" });
    const { promise: ended, resolve } = Promise.withResolvers<Error>();
    client.on("error", resolve);
    await client.connect();
    return { client, ended };
  }

  /** One after the other, until one fails; how many did not. */
  async function ask(client: Client, statements: readonly string[]): Promise<number> {
    for (const [index, one] of statements.entries()) {
      try {
        await client.query(one);
      } catch {
        return index;
      }
    }
    return statements.length;
  }

  const fill = (spool: string): Promise<void> => writeFile(join(spool, "filler"), Buffer.alloc(1024 * 1024)).catch(() => {});

  test.for(["strict", "best_effort"] as const)("a disk that is full, with record_session: %s", async (record) => {
    await using here = await world({}, record);
    const { cluster, alice, spool } = here;
    await using local = await databaseTunnel(alice, "orders");
    const { client, ended } = await connected(local.port);
    await client.query("select 1");
    await until("the recording has begun", async () => (await readdir(spool)).some((name) => name.endsWith(".statements.gz")));
    await fill(spool);
    // No page of the file system holds them, however well they are compressed.
    const noise = Array.from({ length: 4 }, () => Array.from({ length: 500 }, () => Math.random().toString(36).slice(2)).join(""));
    const asked = ask(
      client,
      noise.map((one) => `select length('${one}')`),
    );
    await audited(cluster, "session.recording.failed", { user: "alice", kind: "db", resource: "orders" });
    if (record === "best_effort") {
      expect(await asked).toBe(4);
      expect((await client.query("select 2 as two")).rows).toEqual([{ two: 2 }]);
      await client.end();
      return;
    }
    expect((await ended).message).toContain("sessions on this host must be recorded, and this one cannot be");
    await asked;
    await fill(spool);
    await expect(connected(local.port)).rejects.toThrow(/must be recorded, and this one cannot be.*the disk is full/);
    await rm(join(spool, "filler"), { force: true });
    const again = await connected(local.port);
    expect((await again.client.query("select 3 as three")).rows).toEqual([{ three: 3 }]);
    await again.client.end();
  });

  test("the auth service is away, in mode node-sync", async () => {
    await using here = await world({ split: true, authService: "  session_recording: node-sync\n" }, "best_effort");
    const { cluster, alice } = here;
    await using local = await databaseTunnel(alice, "orders");
    const { client, ended } = await connected(local.port);
    await client.query("select 'before'");
    const [running] = await until("the auth service has its beginning", async () => {
      const all = await listRecordings(cluster);
      return all.length > 0 && all;
    });
    await cluster.control.stop();
    await client.query("select 'meanwhile'");
    expect((await ended).message).toContain("sessions on this host must be recorded, and this one cannot be");
    await cluster.restart();
    const sid = running?.sid ?? "";
    await until("the rest is sent", async () => (await listRecordings(cluster)).some((one) => one.sid === sid && one.state !== "running"));
    expect((await played(alice, sid)).join("\n")).toContain("select 'meanwhile'");
  });
});
