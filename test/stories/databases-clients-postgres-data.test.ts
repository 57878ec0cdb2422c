import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents } from "../world/audited.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { DatabaseWorld } from "../world/database-world.ts";
import { embeddedPostgres } from "../world/embedded-postgres.ts";
import { because, ifPossible, NotHere } from "../world/not-here.ts";
import { databaseGrowth, watchMemory } from "../world/peak-memory.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../world/postgres-server.ts";
import { output, run } from "../world/program.ts";
import { long, rounds } from "../world/rounds.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";

/** Rows of 1 KiB: 1 GB in `make test-long`. */
const tableRows = rounds(1_000_000, 30_000);

describe.skipIf(noPostgres !== undefined)(`a PostgreSQL behind an agent, with much data${because(noPostgres)}`, () => {
  let world: DatabaseWorld;
  let server: PostgresServer;
  let newest: PostgresServer | NotHere;
  let signed: string;
  let agent: Agent;
  let alice: User;

  beforeAll(async () => {
    world = await DatabaseWorld.open();
    signed = await world.sign("db");
    server = world.use(await startPostgres({ signed, folder: world.folder("pg") }));
    for (const text of ["create role reader login", "create database orders", "create database copied"]) await server.sql(text);
    newest = await ifPossible(async () => {
      if (!long) throw new NotHere("PostgreSQL 18 with much data is for make test-long");
      return world.use(await startPostgres({ signed, folder: world.folder("pg18"), native: await embeddedPostgres() }));
    });
    const all = [server, ...(newest instanceof NotHere ? [] : [newest])];
    await all[1]?.sql("create database orders");
    agent = await world.offer(all.map(({ port }, index) => ({ name: index === 0 ? "orders" : "orders-18", protocol: "postgres", at: port })));
    alice = await world.user("alice", { db_users: ["postgres", "reader"], db_names: ["orders", "copied"] });
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  const at = (port: number, name = "orders", user = "postgres") => `host=127.0.0.1 port=${port} user=${user} dbname=${name}`;

  test("a dump is restored through the same tunnel as it was, and the agent's memory stays", { timeout: 900_000 }, async () => {
    await using local = await databaseTunnel(alice, "orders");
    const psql = (name: string, text: string) => output("psql", ["-XAtq", at(local.port, name), "-c", text], { limitMs: 300_000 });
    await psql("orders", `create table big as select i, repeat(md5(i::text), 32) as text from generate_series(1, ${tableRows}) i`);
    const checksum = "select count(*), sum(hashtext(big::text)::bigint) from big";
    const before = await psql("orders", checksum);
    const memory = await watchMemory(agent.service.pid);
    const pipe = 'set -o pipefail; pg_dump -t big "$1" | psql -XAtq -v ON_ERROR_STOP=1 "$2"';
    await output("bash", ["--norc", "-c", pipe, "bash", at(local.port), at(local.port, "copied")], { limitMs: 900_000 });
    expect(await psql("copied", checksum)).toBe(before);
    expect(await memory.growth()).toBeLessThan(databaseGrowth);
  });

  test("\\copy in both directions, and a large object", async () => {
    await using local = await databaseTunnel(alice, "orders", ["--tunnel"]);
    const [from, to] = [world.folder("from.csv"), world.folder("to.csv")];
    await writeFile(from, Array.from({ length: 50_000 }, (_none, index) => `${index},row ${index}\n`).join(""));
    const commands = [
      "create table rows (i int, text text)",
      `\\copy rows from '${from}' csv`,
      `\\copy (select * from rows order by i) to '${to}' csv`,
    ];
    await output("psql", ["-Xq", "-v", "ON_ERROR_STOP=1", at(local.port), ...commands.flatMap((one) => ["-c", one])]);
    expect((await readFile(to)).equals(await readFile(from))).toBe(true);
    const [large, back] = [world.folder("large"), world.folder("large.back")];
    await writeFile(large, randomBytes(3_000_000));
    const script = `\\lo_import '${large}'\n\\lo_export :LASTOID '${back}'\n`;
    await output("psql", ["-Xq", "-v", "ON_ERROR_STOP=1", at(local.port)], { input: script });
    expect((await readFile(back)).equals(await readFile(large))).toBe(true);
  });

  test("a notification arrives while the client is idle", async () => {
    await using local = await databaseTunnel(alice, "orders", ["--tunnel"]);
    const client = new Client({ host: "127.0.0.1", port: local.port, user: "reader", database: "orders" });
    await client.connect();
    const arrived = once(client, "notification") as Promise<[{ channel: string; payload: string }]>;
    await client.query("listen news");
    await output("psql", ["-Xq", at(local.port), "-c", "notify news, 'hello'"]);
    expect((await arrived)[0]).toMatchObject({ channel: "news", payload: "hello" });
    await client.end();
  });

  const modes = {
    simple: "db.session.query",
    extended: "db.session.postgres.statements.execute",
    prepared: "db.session.postgres.statements.execute",
  };
  const bench = (port: number): string[] => ["-h", "127.0.0.1", "-p", String(port), "-U", "postgres"];
  /** Runs it in each mode, and compares the number of its transactions with that of their events. */
  async function benched(name: string, amount: readonly string[]): Promise<void> {
    await using local = await databaseTunnel(alice, name, ["--tunnel"]);
    await output("pgbench", [...bench(local.port), "-i", "-q", "-s", "1", "orders"], { limitMs: 120_000 });
    for (const [mode, event] of Object.entries(modes)) {
      const agent = `pgbench-${name}-${mode}`;
      const options = ["-n", "-S", "-M", mode, "-j", "2", ...amount];
      const done = await output("pgbench", [...bench(local.port), ...options, "orders"], { env: { PGAPPNAME: agent }, limitMs: 200_000 });
      const count = Number(/number of transactions actually processed: (\d+)/.exec(done)?.[1]);
      expect(done).toContain("number of failed transactions: 0 ");
      expect(count).toBeGreaterThan(100);
      const queries = async (): Promise<number> => {
        const starts = await auditEvents(world.cluster, "db.session.start");
        const sids = new Set(starts.filter((one) => one.user_agent === agent).map(({ sid }) => sid));
        const all = await auditEvents(world.cluster, event);
        return all.filter((one) => sids.has(one.sid) && /abalance FROM pgbench_accounts/.test(String(one.db_query))).length;
      };
      await expect.poll(queries, { timeout: 120_000 }).toBe(count);
    }
  }

  const transactions = rounds(150, 50);
  test("pgbench runs in each mode, and every transaction is in the audit log", { timeout: 300_000 }, async () => {
    await benched("orders", ["-c", "4", "-t", String(transactions)]);
  });

  const missing = long ? undefined : new NotHere("ten seconds of pgbench run in make test-long");
  test.skipIf(missing !== undefined)(`pgbench -c 8 -T 10 at PostgreSQL 15 and 18${because(missing)}`, { timeout: 1_200_000 }, async ({ skip }) => {
    await benched("orders", ["-c", "8", "-T", "10"]);
    if (newest instanceof NotHere) return skip(newest.message);
    await benched("orders-18", ["-c", "8", "-T", "10"]);
  });

  test("a server trusts db_client alone: the key of another server opens nothing", async () => {
    const trusted = (await readFile(`${signed}.cas`, "utf8")).trim();
    expect(trusted).toBe((await world.cluster.admin("auth", "export", "--type=db-client")).trim());
    const stolen = await world.sign("mysql");
    const folder = world.folder("stolen");
    await mkdir(folder);
    for (const ending of ["key", "crt"]) await output("install", ["-m", "600", `${stolen}.${ending}`, join(folder, ending)]);
    const direct = `host=127.0.0.1 port=${server.port} user=localhost dbname=orders sslmode=require sslcert=${folder}/crt sslkey=${folder}/key`;
    const done = await run("psql", ["-X", direct, "-c", "select 1"]);
    expect(done).toMatchObject({ status: 2, stdout: "", stderr: expect.stringMatching(/unknown ca/) });
  });
});
