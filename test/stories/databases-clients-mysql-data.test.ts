import { createHash } from "node:crypto";
import { closeSync, createReadStream, openSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createConnection } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkServer } from "../../agent/db/check-server.ts";
import { type Database, databaseOf } from "../../agent/db/database.ts";
import { audited } from "../world/audited.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import type { Mariadb } from "../world/database-servers.ts";
import type { DatabaseWorld } from "../world/database-world.ts";
import { commandLine, mysqlCli } from "../world/mysql-clients.ts";
import { openMysqlWorld } from "../world/mysql-world.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { databaseGrowth, watchMemory } from "../world/peak-memory.ts";
import { output } from "../world/program.ts";
import { long, rounds } from "../world/rounds.ts";
import { sidPrograms } from "../world/sid-programs.ts";
import type { Mysql } from "../world/sid-servers.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";

/** Rows of 1 KiB: 200 MB in `make test-long`. */
const rows = rounds(200_000, 20_000);

describe("MySQL and MariaDB behind an agent, with much data", () => {
  let world: DatabaseWorld;
  let ofMariadb: Mariadb | NotHere;
  let ofMysql: Mysql | NotHere;
  let agent: Agent;
  let alice: User;

  beforeAll(async () => {
    ({
      world,
      mariadb: ofMariadb,
      mysql: ofMysql,
      agent,
    } = await openMysqlWorld([
      "create user reader require subject '/CN=reader'; create database shop; grant all on shop.* to reader",
      "set global max_allowed_packet = 67108864",
    ]));
    alice = await world.user("alice", { db_users: ["reader"], db_names: [] });
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  const servers = [
    { title: "MariaDB 10.11", name: "shop-mariadb", get: () => ofMariadb },
    { title: "MySQL 9.7", name: "shop-mysql", get: () => ofMysql },
  ];

  describe.each(servers)("$title", ({ name, get }) => {
    const need = (skip: (note: string) => never): Mariadb | Mysql => {
      const server = get();
      return server instanceof NotHere ? skip(server.message) : server;
    };

    test("an INSERT of 40 MB in several packets arrives whole, and is one event with its length", async ({ skip }) => {
      need(skip);
      await using local = await databaseTunnel(alice, name);
      const connection = await createConnection({ host: "127.0.0.1", port: local.port, user: "reader", database: "shop" });
      await connection.query("create table large (data longtext)");
      const data = "0123456789abcdef".repeat((40 * 1024 * 1024) / 16);
      const memory = await watchMemory(agent.service.pid);
      await connection.query(`insert into large values ('${data}')`);
      expect((await connection.query("select sha2(data, 256) as sum from large"))[0]).toEqual([
        { sum: createHash("sha256").update(data).digest("hex") },
      ]);
      await connection.end();
      expect(await memory.growth()).toBeLessThan(databaseGrowth);
      const event = await audited(world.cluster, "db.session.query", (one) => one.db_service === name && Number(one.db_query_bytes) > data.length);
      expect(event.db_query_bytes).toBe(data.length + "insert into large values ('')".length);
      expect(String(event.db_query)).toMatch(/^insert into large values \('0123.*… \(cut\)$/);
    });

    test("health checks never block the agent's host, and count as aborted only without an account for them", async ({ skip }) => {
      const server = need(skip);
      await server.sql("set global max_connect_errors = 3");
      const authority = await world.cluster.admin("auth", "export", "--type=db");
      const { signal } = new AbortController();
      const check = async (authorities = [authority]): Promise<void> => await checkServer(databaseAt(server.port), { authorities, signal });
      const aborted = async (): Promise<number> =>
        Number((await server.sql("show global status like 'Aborted_connects'")).trim().split(/\s+/).at(-1));
      const count = rounds(600, 20);
      for (let turn = 0; turn < count; turn += 1) await check();
      const before = await aborted();
      await server.sql("create user 'platform-greeting-only'@'%' require ssl");
      for (let turn = 0; turn < count; turn += 1) await check();
      expect(await aborted()).toBe(before);
      await server.sql("drop user 'platform-greeting-only'@'%'");
      await using local = await databaseTunnel(alice, name);
      const connection = await createConnection({ host: "127.0.0.1", port: local.port, user: "reader" });
      expect((await connection.query("select 1 as one"))[0]).toEqual([{ one: 1 }]);
      await connection.end();
      await expect(check([])).rejects.toThrow(/certificate/);
    });
  });

  /** The same for both programs that make dumps; directly it is over TLS as well. */
  async function dumps(dump: (connection: readonly string[]) => Promise<string>, { port, direct }: { port: number; direct: readonly string[] }) {
    const timed = async (connection: readonly string[]): Promise<{ sum: string; ms: number }> => {
      const begin = performance.now();
      return { sum: await dump(connection), ms: performance.now() - begin };
    };
    const directly = await timed(direct);
    const through = await timed(commandLine({ port }));
    expect(through.sum).toBe(directly.sum);
    if (long) expect(through.ms / directly.ms).toBeLessThan(1.5);
    return directly.sum;
  }

  /** Runs a program that makes dumps: the checksum of what it wrote. */
  const dumpBy =
    (program: string, options: readonly string[]) =>
    async (connection: readonly string[]): Promise<string> => {
      const path = world.folder("dump.sql");
      closeSync(openSync(path, "w"));
      const fixed = ["--skip-comments", "--single-transaction", `--result-file=${path}`, ...options, "shop", "big"];
      await output(program, [...connection, ...fixed], { limitMs: 300_000 });
      return await digest(path);
    };
  const dumper = "create user dumper identified by 'dump' require ssl; grant all on shop.* to dumper";
  const asDumper = (port: number): string[] => ["--no-defaults", "--protocol=TCP", "-h127.0.0.1", `-P${port}`, "-udumper", "-pdump"];

  test("MariaDB: a dump is the one that the server itself gives, also where the client asks for compression", { timeout: 600_000 }, async ({
    skip,
  }) => {
    if (ofMariadb instanceof NotHere) return skip(ofMariadb.message);
    await ofMariadb.sql(`create table shop.big as select seq, repeat(md5(seq), 32) as text from mysql.seq_1_to_${rows}; ${dumper}`);
    await using local = await databaseTunnel(alice, "shop-mariadb");
    const dump = dumpBy("mariadb-dump", []);
    const tls = (connection: readonly string[]): string => (connection.includes("-udumper") ? "--ssl" : "--skip-ssl");
    const sum = await dumps((connection) => dump([...connection, tls(connection)]), { port: local.port, direct: asDumper(ofMariadb.port) });
    expect(await dump([...commandLine({ port: local.port }), "--skip-ssl", "--compress"])).toBe(sum);
  });

  test("MySQL: a dump by its own program is the one that the server itself gives", { timeout: 600_000 }, async ({ skip }) => {
    if (ofMysql instanceof NotHere) return skip(ofMysql.message);
    const program = await ifPossible(async () => (await sidPrograms()).path("mysqldump"));
    if (program instanceof NotHere) return skip(program.message);
    const numbers = `with recursive n (seq) as (select 1 union all select seq + 1 from n where seq < ${rows})`;
    await ofMysql.sql(
      `use shop; set session cte_max_recursion_depth = ${rows}; create table shop.big as ${numbers} select seq, repeat(left(sha2(seq, 256), 32), 32) as text from n; ${dumper}`,
    );
    const dump = dumpBy(program, ["--no-tablespaces", "--set-gtid-purged=OFF"]);
    await using local = await databaseTunnel(alice, "shop-mysql");
    const tls = (connection: readonly string[]): string => `--ssl-mode=${connection.includes("-udumper") ? "REQUIRED" : "DISABLED"}`;
    await dumps((connection) => dump([...connection, tls(connection)]), { port: local.port, direct: asDumper(ofMysql.port) });
  });

  test("MySQL: a client that asks for compression works without it", async ({ skip }) => {
    if (ofMysql instanceof NotHere) return skip(ofMysql.message);
    await using local = await databaseTunnel(alice, "shop-mysql");
    const query = "show session status like 'Compression'";
    const done = await mysqlCli({ port: local.port }, "--compression-algorithms=zlib,zstd,uncompressed", "-BNe", query);
    expect(done.stdout).toBe("Compression\tOFF\n");
  });
});

function databaseAt(port: number): Database {
  const database = databaseOf({ metadata: { name: "checked" }, spec: { protocol: "mysql", uri: `127.0.0.1:${port}` } });
  if (database === undefined) throw new Error("the address is not read");
  return database;
}

async function digest(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
