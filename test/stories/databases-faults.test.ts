import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { batchRows, codeOf, keepLedger, type Ledger, ledgerTables } from "../world/ledger.ts";
import { because } from "../world/not-here.ts";
import { noPostgres } from "../world/postgres-server.ts";
import { openPostgresWorld, type PostgresWorld, psqlArguments } from "../world/postgres-world.ts";
import { start } from "../world/program.ts";
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

/** `tsh` is left, and says so: the transaction waits between two messages. */
const reportedByTsh = /^08006$/;

describe.skipIf(noPostgres !== undefined)(`kill -9 in the middle of transactions and COPY${because(noPostgres)}`, () => {
  let world: PostgresWorld;
  let local: RunningTunnel;
  let ledger: Ledger;
  let faults: readonly Fault[];

  beforeAll(async () => {
    world = await openPostgresWorld({ cluster: { split: true } });
    const { server, cluster, agent } = world;
    await inOrders(ledgerTables);
    local = await databaseTunnel(world.alice, "orders");
    ledger = keepLedger(local.port);
    await until("the ledger is kept", () => ledger.committed.length > 3 && ledger.copied.length > 0);
    faults = [
      { name: "the database", kill: () => server.kill(), back: () => server.again(), told: /^(?:57P0\d|08006)$/ },
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
    await ledger?.stop();
    await local?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

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
  test(`${moments} times: what was acknowledged is there, once; everything comes back by itself`, { timeout: moments * 60_000 }, async () => {
    let reached = 0;
    for (let moment = 0; moment < moments; moment += 1) {
      const fault = faults[moment % faults.length] as Fault;
      const held = await openTransaction(moment + 1);
      const lost = once(held, "error").then(([thrown]) => codeOf(thrown));
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
        const { text, status } = await outward.whole;
        expect(status, fault.name).not.toBe(0);
        const lines = text.split("\n");
        expect(lines.pop(), fault.name).toBe("");
        expect(lines.every((line, index) => line.startsWith(`${index + 1}\t`))).toBe(true);
      }
      await fault.back();
      const [commits, copies] = [ledger.committed.length, ledger.copied.length];
      await until(`work goes on after ${fault.name}`, () => ledger.committed.length > commits + 2 && ledger.copied.length > copies);
      reached += 1;
    }
    await ledger.stop();
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
});
