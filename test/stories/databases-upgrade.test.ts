import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { type Connection, createConnection } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import { type DatabaseServer, type Mariadb, noMariadb, noRedis, startMariadb, startRedis } from "../world/database-servers.ts";
import { freePorts } from "../world/free-port.ts";
import { type HeldPsql, holdPsql, holdPsqlWith } from "../world/held-psql.ts";
import { keepLedger, type Ledger, ledgerTables, type NumberLedger } from "../world/ledger.ts";
import { because } from "../world/not-here.ts";
import { keepMysqlLedger } from "../world/other-ledgers.ts";
import { noPostgres } from "../world/postgres-server.ts";
import { entry, openPostgresWorld, type PostgresWorld, psqlArguments } from "../world/postgres-world.ts";
import { program, start } from "../world/program.ts";
import { type Processes, processes } from "../world/reload.ts";
import { long } from "../world/rounds.ts";
import { databaseTunnel, type RunningTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

const missing = noPostgres ?? noRedis ?? noMariadb;

/** An upgrade is a reload with another executable on the disk: what is open goes on to its end in the process that has it. */
describe.skipIf(missing !== undefined)(`database sessions through a reload of agent and control${because(missing)}`, () => {
  let dir: string;
  let world: PostgresWorld;
  let redis: DatabaseServer;
  let mariadb: Mariadb;
  let toMariadb: RunningTunnel;
  let agent: Processes;
  let control: Processes;
  let [local, cache]: RunningTunnel[] = [];
  let ledger: Ledger;
  let mysqlLedger: NumberLedger;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "platform-reload-"));
    const platform = join(dir, "platform");
    await copyFile(program("platform"), platform);
    for (const name of ["control", "agent"]) await mkdir(join(dir, name));
    const [frontPort = 0] = await freePorts(1);
    const proxyService = `  postgres_listen_addr: 127.0.0.1:${frontPort}\n`;
    world = await openPostgresWorld({
      cluster: { platform, proxyService, env: { RUNTIME_DIRECTORY: join(dir, "control") } },
      agent: { platform, env: { RUNTIME_DIRECTORY: join(dir, "agent") } },
      // Found by its labels: the new process has to learn of it first.
      dbService: "  resources:\n    - labels: { env: test }\n",
      prepare: async (cluster) => {
        const signed = join(cluster.dir, "redis");
        await cluster.admin("auth", "sign", "--format=redis", "--host=127.0.0.1", `--out=${signed}`);
        redis = await startRedis({ signed, folder: join(cluster.dir, "r") }, ["user reader on >hunter2 ~* &* +@all"]);
        const forMysql = join(cluster.dir, "mysql");
        await cluster.admin("auth", "sign", "--format=mysql", "--host=127.0.0.1", `--out=${forMysql}`);
        mariadb = await startMariadb({ signed: forMysql, folder: join(cluster.dir, "m") });
        await mariadb.sql("create user writer require subject '/CN=writer'; create database shop; create table shop.ledger (n int)");
        await mariadb.sql("grant all on shop.* to writer");
        return entry("cache", "redis", `127.0.0.1:${redis.port}`) + entry("shop", "mysql", `127.0.0.1:${mariadb.port}`);
      },
    });
    await world.server.sql(ledgerTables, "orders");
    const books = { kind: "db", version: "v3", metadata: { name: "books", labels: { env: "test" } } };
    const resource = { ...books, spec: { protocol: "postgres", uri: `127.0.0.1:${world.server.port}` } };
    expect(await world.cluster.tctl(["create", "-"], { input: JSON.stringify(resource) })).toMatchObject({ status: 0 });
    agent = await processes(join(world.agent.dir, "agent.pid"), join(dir, "agent"));
    control = await processes(join(world.cluster.dir, "control.pid"), join(dir, "control"));
    await until("books is offered", async () => (await world.alice.tsh(["db", "ls", "--format=names"])).stdout.includes("books"));
    local = await databaseTunnel(world.alice, "books");
    cache = await databaseTunnel(world.alice, "cache", ["--db-user=reader"]);
    toMariadb = await databaseTunnel(world.alice, "shop", ["--db-user=writer"]);
  });
  afterAll(async () => {
    await Promise.all([ledger?.stop(), mysqlLedger?.stop()]);
    for (const one of [local, cache, toMariadb, agent, control, redis, mariadb, world]) await one?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  const toRedis = (): Redis =>
    new Redis({ host: "127.0.0.1", port: cache?.port ?? 0, username: "reader", password: "hunter2", retryStrategy: () => null }).on(
      "error",
      () => {},
    );

  /** A COPY of many rows on its way out. */
  function copyOut(port: number) {
    const rows = "select i, md5(i::text), case when i % 100 = 0 then pg_sleep(0.02) end from generate_series(1, 20000000) i";
    const child = start("psql", [...psqlArguments(port, "writer"), "-c", `copy (${rows}) to stdout`]);
    let [lines, rest, isRight] = [0, "", true];
    child.stdout?.on("data", (chunk: Buffer) => {
      const parts = (rest + chunk.toString()).split("\n");
      rest = parts.pop() ?? "";
      for (const line of parts) {
        lines += 1;
        isRight &&= line.startsWith(`${lines}\t`);
      }
    });
    return { lines: () => lines, isRight: () => isRight, isOpen: () => child.exitCode === null, kill: () => child.kill("SIGKILL") };
  }

  /** For stock clients at the web port, as reader. */
  async function withoutTsh(): Promise<string> {
    const env = { PGSERVICEFILE: join(dir, "services.conf") };
    expect(await world.alice.tsh(["db", "login", "--db-user=reader", "--db-name=orders", "books"], { env })).toMatchObject({ status: 0 });
    const config = await world.alice.tsh(["db", "config", "--format=json", "books"], { env });
    const { ca, cert, key } = JSON.parse(config.stdout) as { readonly ca: string; readonly cert: string; readonly key: string };
    const files = `sslmode=verify-full sslrootcert=${ca} sslcert=${cert} sslkey=${key}`;
    return `host=127.0.0.1 port=${world.cluster.ports.web} user=reader dbname=orders ${files}`;
  }

  test("a transaction, a COPY and a subscription go on, a query can still be cancelled, and no login fails: agent, then control", {
    timeout: 240_000,
  }, async () => {
    const port = local?.port ?? 0;
    await using held: HeldPsql = await holdPsql(port, "writer");
    await using other = await holdPsql(port);
    await using stock = await holdPsql(await withoutTsh());
    // A stock client of the proxy's own port.
    const env = { HOME: world.alice.home, PGSERVICEFILE: join(world.alice.home, "services.conf") };
    const login = await world.alice.tsh(["db", "login", "--db-user=reader", "--db-name=orders", "books"], { env });
    expect(login).toMatchObject({ status: 0 });
    await using direct = await holdPsqlWith(["-XAt", "service=test.cluster-books.direct"], { env });
    const transaction = await createConnection({ host: "127.0.0.1", port: toMariadb.port, user: "writer", database: "shop" });
    await transaction.query("begin");
    await transaction.query("insert into ledger values (-1)");
    mysqlLedger = keepMysqlLedger(toMariadb.port);
    held.type("begin;\ninsert into ledger values (-1);\n");
    const copy = copyOut(port);
    const [subscriber, publisher] = [toRedis(), toRedis()];
    const heard: string[] = [];
    subscriber.on("message", (_channel, message) => heard.push(message));
    await subscriber.subscribe("news");
    ledger = keepLedger(port);
    const logins = { failures: [] as string[], count: 0 };
    const ending = new AbortController();
    const loggingIn = (async () => {
      while (!ending.signal.aborted) {
        const client = toRedis();
        logins.count += 1;
        await client.ping().catch((thrown: unknown) => logins.failures.push(String(thrown)));
        client.disconnect();
        await sleep(300, undefined, { signal: ending.signal }).catch(() => {});
      }
    })();
    const toShop = (): Promise<Connection> => createConnection({ host: "127.0.0.1", port: toMariadb.port, user: "writer", database: "shop" });
    /** Another connection, which now goes through other processes, kills the query by the number that this one was greeted with. */
    const stillKilled = async (asleep: Connection): Promise<void> => {
      const over = asleep.query("select sleep(1000)").then(
        () => "slept",
        (thrown: { readonly code?: string }) => thrown.code,
      );
      await until("it runs", async () => (await mariadb.sql("select info from information_schema.processlist")).includes("select sleep(1000)"));
      const killer = await toShop();
      await killer.query(`kill query ${asleep.threadId}`);
      expect(await over).toBe("ER_QUERY_INTERRUPTED");
      await Promise.all([killer.end(), asleep.end()]);
    };
    const beforeAgent = await toShop();
    let said = 0;
    const stillThere = async (): Promise<void> => {
      await held.ask();
      await direct.ask();
      expect((await transaction.query("select 1 as one"))[0]).toEqual([{ one: 1 }]);
      const lines = copy.lines();
      await until("rows come", () => copy.lines() > lines || !copy.isOpen());
      expect([copy.isOpen(), copy.isRight()]).toEqual([true, true]);
      said += 1;
      await publisher.publish("news", `n${said}`);
      await until("it is heard", () => heard.includes(`n${said}`));
      const [commits, copies, others] = [ledger.committed.length, ledger.copied.length, mysqlLedger.committed.length];
      await until("work goes on", () => ledger.committed.length > commits && ledger.copied.length > copies);
      await until("work goes on at MariaDB", () => mysqlLedger.committed.length > others);
    };
    await stillThere();
    await agent.reload();
    await stillThere();
    await stillKilled(beforeAgent);
    const beforeControl = await toShop();
    for (const client of [other, stock]) client.type("select pg_sleep(60);\n");
    const runs = "select count(*) from pg_stat_activity where state = 'active' and query like 'select pg_sleep(60)%'";
    await until("the queries run", async () => (await world.server.sql(runs)).trim() === "2");
    for (const client of [other, stock]) {
      client.interrupt();
      await client.until(/canceling statement due to user request/);
    }
    await control.reload();
    await stillThere();
    await stillKilled(beforeControl);
    if (long) {
      await Promise.all([agent.reload(), control.reload()]);
      await stillThere();
    }
    ending.abort();
    await loggingIn;
    await Promise.all([ledger.stop(), mysqlLedger.stop()]);
    expect({ ledger: ledger.errors, mysql: mysqlLedger.errors, redis: logins.failures }).toEqual({ ledger: [], mysql: [], redis: [] });
    await transaction.query("commit");
    await transaction.end();
    const numbers = (await mariadb.sql("select n from shop.ledger order by n")).trim().split("\n").map(Number);
    expect(numbers).toEqual([-1, ...mysqlLedger.committed]);
    // A new one, through the new processes.
    await using again = await holdPsqlWith(["-XAt", "service=test.cluster-books.direct"], { env });
    await again.ask();
    for (const client of [direct, again]) {
      client.type("\\q\n");
      expect(await client.ended).toBe(0);
    }
    expect(logins.count).toBeGreaterThan(20);
    // All three are in the process that was there at first.
    expect((await agent.all()).filter(({ role, sessions }) => role === "draining" && sessions > 0).length).toBeGreaterThan(0);
    held.type("commit;\n\\q\n");
    expect(await held.ended).toBe(0);
    expect((await world.server.sql("select count(*) from ledger where n = -1", "orders")).trim()).toBe("1");
    expect((await world.server.sql("select count(*) from ledger where n > 0", "orders")).trim()).toBe(String(ledger.committed.length));
    copy.kill();
    for (const one of [subscriber, publisher]) {
      const closed = once(one, "end");
      one.disconnect();
      await closed;
    }
    await audited(world.cluster, "db.session.end", (event) => event.db_user === "writer" && event.queries === said + 4 && event.reason === undefined);
    await until("the processes from before have ended", async () => {
      const all = (await Promise.all([agent, control].map((service) => service.all()))).flat();
      return all.every(({ role }) => role === "main");
    });
  });
});
