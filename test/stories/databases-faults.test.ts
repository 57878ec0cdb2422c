import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { createConnection } from "mysql2/promise";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FragileServer, type Mariadb, noMariadb, noRedis, startMariadb, startRedis } from "../world/database-servers.ts";
import { batchRows, codeOf, keepLedger, type Ledger, ledgerTables, type NumberLedger } from "../world/ledger.ts";
import { because } from "../world/not-here.ts";
import { keepMysqlLedger, keepRedisLedger } from "../world/other-ledgers.ts";
import { noPostgres } from "../world/postgres-server.ts";
import { entry, openPostgresWorld, type PostgresWorld, psqlArguments } from "../world/postgres-world.ts";
import { output, start } from "../world/program.ts";
import { rounds } from "../world/rounds.ts";
import { databaseTunnel, type RunningTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

/** What fails, and the errors that its clients may see. */
interface Fault {
  readonly name: string;
  readonly kill: () => Promise<void>;
  readonly back: () => Promise<void>;
  /** Of a transaction that is open when it happens; undefined: it goes on. */
  readonly told: RegExp | undefined;
}

/** A command at another server that has no answer when something fails. */
interface WaitingCommand {
  readonly name: "MariaDB" | "Redis";
  /** The error that it gets; undefined: it was answered after all. */
  readonly told: Promise<string | undefined>;
  readonly end: () => void;
}

/** `tsh` is left, and says so: the transaction waits between two messages. */
const reportedByTsh = /^08006$/;

/** A server of another protocol beside PostgreSQL, which is killed when that one is. */
interface OtherServer {
  readonly name: "MariaDB" | "Redis";
  readonly server: FragileServer;
  readonly local: RunningTunnel;
  readonly ledger: NumberLedger;
  /** The numbers that it has. */
  readonly numbers: () => Promise<readonly number[]>;
}

/** Errors that clients of each see in the ledgers: its own words for the end of a session, or the end of the connection. */
const told = {
  MariaDB:
    /^(?:PROTOCOL_CONNECTION_LOST|ECONNRESET|EPIPE|ECONNREFUSED|ER_SERVER_SHUTDOWN|ER_CONNECT_TO_FOREIGN_DATA_SOURCE|\w+ .*(?:no connected agent offers|the connection to the database broke|the server of database shop closed the connection)) /,
  Redis:
    /^(?:ECONNRESET$|EPIPE$|ECONNREFUSED$|Connection is closed\.$|ERR .*(?:is unreachable|no connection to|no connected agent offers|the connection to the database broke|the server of database cache closed the connection|the connection to the agent of this database was lost))/,
};
/** Those of a command that awaited its answer when its server was killed. */
const otherTold = {
  MariaDB: /the connection to the database broke|the server of database shop closed the connection/,
  Redis: /the connection to the database broke|the server of database cache closed the connection/,
};

const redisPassword = "hunter2";

describe.skipIf(noPostgres !== undefined)(`kill -9 in the middle of transactions and COPY${because(noPostgres)}`, () => {
  let world: PostgresWorld;
  let local: RunningTunnel;
  let ledger: Ledger;
  let others: readonly OtherServer[] = [];
  let faults: readonly Fault[];

  beforeAll(async () => {
    let [mariadb, redis]: [Mariadb?, FragileServer?] = [];
    world = await openPostgresWorld({
      cluster: { split: true },
      prepare: async ({ admin, dir }) => {
        const sign = async (format: string): Promise<string> => {
          await admin("auth", "sign", `--format=${format}`, "--host=127.0.0.1", `--out=${join(dir, format)}`);
          return join(dir, format);
        };
        // What it has acknowledged is in its file then.
        const durable = ["--appendonly", "yes"];
        const account = `user writer on >${redisPassword} ~* &* +@all`;
        if (noRedis === undefined) redis = await startRedis({ signed: await sign("redis"), folder: join(dir, "r") }, [account], durable);
        if (noMariadb === undefined) mariadb = await startMariadb({ signed: await sign("mysql"), folder: join(dir, "m") });
        await mariadb?.sql("create user writer require subject '/CN=writer'; create database shop; create table shop.ledger (n int)");
        await mariadb?.sql("grant all on shop.* to writer");
        return [mariadb && entry("shop", "mysql", `127.0.0.1:${mariadb.port}`), redis && entry("cache", "redis", `127.0.0.1:${redis.port}`)].join("");
      },
    });
    others = (await Promise.all([besideAtMariadb(mariadb), besideAtRedis(redis)])).flat();
    const { server, cluster, agent } = world;
    await inOrders(ledgerTables);
    local = await databaseTunnel(world.alice, "orders");
    ledger = keepLedger(local.port);
    await until("the ledgers are kept", () => ledger.copied.length > 0 && [ledger, ...others.map((one) => one.ledger)].every(hasSome));
    faults = [
      {
        name: "the database",
        kill: async () => void (await Promise.all([server, ...others.map((one) => one.server)].map((one) => one.kill()))),
        back: async () => void (await Promise.all([server, ...others.map((one) => one.server)].map((one) => one.again()))),
        told: /^(?:57P0\d|08006)$/,
      },
      {
        name: "the agent",
        kill: () => agent.service.kill(),
        back: async () => agent.start(),
        told: reportedByTsh,
      },
      {
        name: "the proxy",
        kill: async () => await cluster.proxyService?.kill(),
        back: () => cluster.restartProxy(),
        told: reportedByTsh,
      },
      { name: "the auth service", kill: () => cluster.control.kill(), back: () => cluster.restart(), told: undefined },
    ];
  });
  afterAll(async () => {
    await Promise.all([ledger, ...others.map((one) => one.ledger)].map((one) => one?.stop()));
    for (const one of [local, ...others.flatMap((other) => [other.local, other.server]), world]) await one?.[Symbol.asyncDispose]();
  });

  const hasSome = ({ committed }: NumberLedger): boolean => committed.length > 3;

  async function besideAtMariadb(server: Mariadb | undefined): Promise<OtherServer[]> {
    if (server === undefined) return [];
    const tunnel = await databaseTunnel(world.alice, "shop", ["--db-user=writer"]);
    const numbers = async (): Promise<number[]> => (await server.sql("select n from shop.ledger")).split("\n").filter(Boolean).map(Number);
    return [{ name: "MariaDB", server, local: tunnel, ledger: keepMysqlLedger(tunnel.port), numbers }];
  }

  async function besideAtRedis(server: FragileServer | undefined): Promise<OtherServer[]> {
    if (server === undefined) return [];
    const tunnel = await databaseTunnel(world.alice, "cache", ["--db-user=writer"]);
    const login = ["-p", String(tunnel.port), "--no-auth-warning", "--user", "writer", "--pass", redisPassword];
    const numbers = async (): Promise<number[]> =>
      (await output("redis-cli", [...login, "LRANGE", "ledger", "0", "-1"])).split("\n").filter(Boolean).map(Number);
    return [{ name: "Redis", server, local: tunnel, ledger: keepRedisLedger(tunnel.port, redisPassword), numbers }];
  }

  async function inOrders(sql: string): Promise<string> {
    return await world.server.sql(sql, "orders");
  }

  /** A transaction that is open. */
  async function openTransaction(mark: number): Promise<Client> {
    return await until("a transaction", async () => {
      const client = new Client({ host: "127.0.0.1", port: local.port, user: "writer", database: "orders", connectionTimeoutMillis: 10_000 });
      client.on("error", () => {});
      await client.connect();
      await client.query("begin");
      await client.query("insert into ledger values ($1)", [-mark]);
      return client;
    });
  }

  /** Commands that take longer than the fault, on connections of their own. */
  async function waitingCommands(): Promise<readonly WaitingCommand[]> {
    return await Promise.all(
      others.map(async ({ name, local: { port } }) => {
        const host = "127.0.0.1";
        if (name === "MariaDB") {
          const connection = await until("a connection to MariaDB", () => createConnection({ host, port, user: "writer", database: "shop" }));
          connection.on("error", () => {});
          return { name, told: errorOf(connection.query("select sleep(100)")), end: () => connection.destroy() };
        }
        const login = { username: "writer", password: redisPassword, lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 };
        const client = await until("a connection to Redis", async () => {
          const one = new Redis({ host, port, ...login });
          one.on("error", () => {});
          await one.connect();
          return one;
        });
        return { name, told: errorOf(client.blpop("nothing", 100)), end: () => client.disconnect() };
      }),
    );
  }

  async function errorOf(answer: Promise<unknown>): Promise<string | undefined> {
    return await answer.then(
      () => undefined,
      (thrown: Error) => thrown.message,
    );
  }

  /** A COPY of many rows on its way out: what has come until its end. */
  function copyOut() {
    const rows = "select i, md5(i::text), case when i % 100 = 0 then pg_sleep(0.005) end from generate_series(1, 20000000) i";
    const child = start("psql", [...psqlArguments(local.port, "writer"), "-c", `copy (${rows}) to stdout`]);
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
    child.stderr?.resume();
    const whole = once(child, "close").then(([status]) => ({ text, status: status as number | null }));
    return { come: () => text.length, whole, kill: () => child.kill("SIGKILL") };
  }

  const moments = rounds(24, 4);
  test(`${moments} times: what was acknowledged is there, once; everything comes back by itself`, { timeout: moments * 90_000 }, async () => {
    let reached = 0;
    for (let moment = 0; moment < moments; moment += 1) {
      const fault = faults[moment % faults.length] as Fault;
      const held = await openTransaction(moment + 1);
      const lost = once(held, "error").then(([thrown]) => codeOf(thrown));
      const waiting = await waitingCommands();
      const outward = copyOut();
      await until("rows come", () => outward.come() > 0);
      // Not a wait for anything: the moment is what is random.
      await sleep(Math.random() * 700);
      await fault.kill();
      if (fault.told === undefined) {
        await held.query("insert into ledger values ($1)", [-1000 - moment]);
        await held.query("rollback");
        await held.end();
        const seen = outward.come();
        await until("the COPY goes on", () => outward.come() > seen);
        outward.kill();
      } else {
        expect(await lost, fault.name).toMatch(fault.told);
        const byTsh = /the connection to the agent of this database was lost/;
        for (const { name, told: answer } of waiting)
          expect(await answer, `${name} after ${fault.name}`).toMatch(fault.name === "the database" ? otherTold[name] : byTsh);
        const { text, status } = await outward.whole;
        expect(status, fault.name).not.toBe(0);
        const lines = text.split("\n");
        expect(lines.pop(), fault.name).toBe("");
        expect(lines.every((line, index) => line.startsWith(`${index + 1}\t`))).toBe(true);
      }
      for (const one of waiting) one.end();
      await fault.back();
      const [commits, copies] = [ledger.committed.length, ledger.copied.length];
      const before = others.map((other) => other.ledger.committed.length);
      await until(`work goes on after ${fault.name}`, () => ledger.committed.length > commits + 2 && ledger.copied.length > copies);
      for (const [index, other] of others.entries())
        await until(`work goes on at ${other.name} after ${fault.name}`, () => other.ledger.committed.length > (before[index] ?? 0) + 2);
      reached += 1;
    }
    await Promise.all([ledger, ...others.map((other) => other.ledger)].map((one) => one.stop()));
    expect(reached).toBe(moments);
    // None of its kind is left: whatever is a connection's end has a code of PostgreSQL, or is the end of the connection itself. 3D000: the proxy refuses
    // while no agent offers the database.
    const known =
      /^(?:57P0\d|08\d{3}|3D000|Connection terminated.*|ECONNRESET|EPIPE|ECONNREFUSED|.*server closed the connection.*|.*connection to server.*)$/s;
    expect(ledger.errors.filter((one) => !known.test(one)).join("\n")).toBe("");
  });

  test("the ledger: every acknowledged commit and COPY, none twice, none in part", async () => {
    const lines = (text: string): string[] => text.trim().split("\n").filter(Boolean);
    const there = new Set(lines(await inOrders("select distinct n from ledger")).map(Number));
    expect(ledger.committed.filter((n) => !there.has(n))).toEqual([]);
    expect(lines(await inOrders("select n from ledger group by n having count(*) > 1"))).toEqual([]);
    expect(lines(await inOrders("select n from ledger where n < 0"))).toEqual([]);
    expect(
      lines(await inOrders(`select batch from batches group by batch having count(*) <> ${batchRows} or count(distinct row) <> ${batchRows}`)),
    ).toEqual([]);
    const batches = new Set(lines(await inOrders("select distinct batch from batches")).map(Number));
    expect(ledger.copied.filter((batch) => !batches.has(batch))).toEqual([]);
    expect(ledger.committed.length).toBeGreaterThan(20);
  });

  test.for(["MariaDB", "Redis"] as const)("the ledger of %s: everything acknowledged, nothing twice", async (name, { skip }) => {
    const missing = name === "MariaDB" ? noMariadb : noRedis;
    const other = others.find((one) => one.name === name);
    if (missing !== undefined || other === undefined) return skip(missing?.message);
    const there = await other.numbers();
    const [known, { committed, errors }] = [new Set(there), other.ledger];
    expect(committed.filter((n) => !known.has(n))).toEqual([]);
    expect(there).toHaveLength(known.size);
    // Four before the first moment, and three after each.
    expect(committed.length).toBeGreaterThanOrEqual(4 + 3 * moments);
    // The database, the agent and the proxy were killed.
    expect(errors.length).toBeGreaterThanOrEqual(3);
    expect(errors.filter((one) => !told[name].test(one))).toEqual([]);
  });
});
