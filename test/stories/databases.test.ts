import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Redis } from "ioredis";
import * as mariadbClient from "mariadb";
import { MongoClient } from "mongodb";
import { createConnection } from "mysql2/promise";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents, audited } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { type DatabaseServer, type Mariadb, noMariadb, noRedis, startMariadb, startRedis } from "../world/database-servers.ts";
import { MongoServer } from "../world/mongo-server.ts";
import { because } from "../world/not-here.ts";
import { run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

describe("databases behind an agent", () => {
  let cluster: Cluster;
  let mariadb: Mariadb | undefined;
  let redis: DatabaseServer | undefined;
  let mongo: MongoServer;
  let alice: User;

  beforeAll(async () => {
    cluster = await startCluster();
    await chmod(cluster.dir, 0o755);
    const sign = async (format: string): Promise<string> => {
      const out = join(cluster.dir, format);
      await cluster.admin("auth", "sign", `--format=${format}`, "--host=127.0.0.1,localhost", "--ttl=2190h", `--out=${out}`);
      return out;
    };
    const [forMysql, forRedis, forMongo] = [await sign("mysql"), await sign("redis"), await sign("mongodb")];
    mariadb = noMariadb === undefined ? await startMariadb({ signed: forMysql, folder: join(cluster.dir, "m") }) : undefined;
    await mariadb?.sql("create user reader require subject '/CN=reader'; create database shop; grant all on shop.* to reader");
    redis =
      noRedis === undefined
        ? await startRedis({ signed: forRedis, folder: join(cluster.dir, "r") }, ["user reader on >hunter2 ~* &* +@all"])
        : undefined;
    const pem = await readFile(`${forMongo}.crt`);
    mongo = new MongoServer({ tls: { key: pem, cert: pem, ca: await readFile(`${forMongo}.cas`) }, accounts: ["CN=reader"] });
    await mongo.open();
    await putRole(cluster, "dev", { allow: { db_labels: { env: "test" }, db_users: ["reader"], db_names: ["orders", "admin", "0"] } });
    const entry = (name: string, protocol: string, port: number | undefined): string =>
      port === undefined ? "" : `    - { name: ${name}, protocol: ${protocol}, uri: "127.0.0.1:${port}", static_labels: { env: test } }\n`;
    const list = entry("shop", "mysql", mariadb?.port) + entry("cache", "redis", redis?.port) + entry("orders", "mongodb", mongo.port);
    const token = await cluster.token("--type=db");
    await cluster.agent({ name: "db-1", token, services: `db_service:\n  enabled: yes\n  databases:\n${list}`, noWait: true });
    alice = await cluster.user("alice", { roles: "dev" });
    await until("the agent offers them", async () => (await alice.tsh(["db", "ls", "--format=names"])).stdout.includes("orders"));
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await mariadb?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
    await mongo?.[Symbol.asyncDispose]();
  });

  test.skipIf(noMariadb !== undefined)(
    `MariaDB: its own client and mysql2 are the account of the certificate; statements are in the audit log${because(noMariadb)}`,
    async () => {
      const done = await alice.tsh(["db", "connect", "--db-user=reader", "shop", "-BNe", "select current_user(); select version()"]);
      expect(done).toMatchObject({ status: 0, stdout: expect.stringMatching(/^reader@%\n10\.\d+\.\d+-MariaDB/) });
      await audited(cluster, "db.session.query", { user: "alice", db_service: "shop", db_user: "reader", db_query: "select current_user()" });
      await using local = await databaseTunnel(alice, "shop");
      const connection = await createConnection({ host: "127.0.0.1", port: local.port, user: "reader", password: "anything", database: "shop" });
      await connection.query("create table t (id int, name varchar(20))");
      await connection.execute("insert into t values (?, ?)", [7, "seven"]);
      expect((await connection.execute("select name from t where id = ?", [7]))[0]).toEqual([{ name: "seven" }]);
      await audited(cluster, "db.session.mysql.statements.execute", (event) => String(event.parameters) === "7,seven");
      await expect(
        connection.query({
          sql: "load data local infile '/etc/passwd' into table t",
          infileStreamFactory: () => {
            throw new Error("asked for");
          },
        }),
      ).rejects.toMatchObject({ errno: 4166, message: expect.stringMatching(/disabled/) });
      expect((await connection.query("select 1 as one"))[0]).toEqual([{ one: 1 }]);
      await connection.end();
      const other = await mariadbClient.createConnection({ host: "127.0.0.1", port: local.port, user: "reader", database: "shop" });
      expect(await other.query("select name from t where id = ?", [7])).toMatchObject([{ name: "seven" }]);
      await other.end();
      const refused = await alice.tsh(["db", "connect", "--db-user=root", "shop", "-e", "select 1"]);
      expect(refused.status).not.toBe(0);
      expect(refused.stderr).toMatch(/may not connect as root/);
    },
  );

  test.skipIf(noRedis !== undefined)(
    `Redis: redis-cli with its password, which is in no event; another account's is refused${because(noRedis)}`,
    async () => {
      await using local = await databaseTunnel(alice, "cache", ["--db-user=reader"]);
      const cli = (...args: readonly string[]) => run("redis-cli", ["-p", String(local.port), ...args]);
      expect((await cli("--no-auth-warning", "--user", "reader", "--pass", "hunter2", "SET", "k", "v")).stdout).toBe("OK\n");
      expect((await cli("--no-auth-warning", "--user", "reader", "--pass", "hunter2", "-3", "GET", "k")).stdout).toMatch(/v\n/);
      expect(await cli("--no-auth-warning", "--user", "writer", "--pass", "x", "GET", "k")).toMatchObject({
        stdout: expect.stringMatching(/^NOAUTH/),
        stderr: expect.stringMatching(/AUTH failed: NOPERM/),
      });
      const io = new Redis({ host: "127.0.0.1", port: local.port, username: "reader", password: "hunter2" });
      expect(await io.get("k")).toBe("v");
      const many = await Promise.all(Array.from({ length: 1000 }, (_, index) => io.set(`n${index}`, index)));
      expect(new Set(many)).toEqual(new Set(["OK"]));
      await io.quit();
      const node = createClient({ url: `redis://reader:hunter2@127.0.0.1:${local.port}`, RESP: 3 });
      await node.connect();
      expect(await node.get("n999")).toBe("999");
      await node.close();
      await audited(cluster, "db.session.query", (event) => event.db_service === "cache" && String(event.db_query).toUpperCase() === "SET");
      expect(JSON.stringify(await auditEvents(cluster, "db.session.query"))).not.toContain("hunter2");
    },
  );

  test("MongoDB (a server of ours: there is no mongod here): the driver reads and writes in the databases of the roles, and in no other", async () => {
    await using local = await databaseTunnel(alice, "orders", ["--db-user=reader"]);
    const client = await MongoClient.connect(`mongodb://127.0.0.1:${local.port}/?directConnection=true`, { serverSelectionTimeoutMS: 20_000 });
    const list = client.db("orders").collection("list");
    await list.insertOne({ name: "seven" });
    expect(await list.findOne({ name: "seven" })).toMatchObject({ name: "seven" });
    await expect(client.db("payroll").collection("list").findOne({})).rejects.toMatchObject({ code: 13 });
    await client.close();
    await audited(cluster, "db.session.query", (event) => event.db_service === "orders" && String(event.db_query).includes('"insert":"list"'));
  });
});
