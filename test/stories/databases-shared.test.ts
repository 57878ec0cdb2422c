import { Socket } from "node:net";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents } from "../world/audited.ts";
import { because } from "../world/not-here.ts";
import { noPostgres } from "../world/postgres-server.ts";
import { openPostgresWorld, type PostgresWorld, psql } from "../world/postgres-world.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

describe.skipIf(noPostgres !== undefined)(`sessions of one tunnel${because(noPostgres)}`, () => {
  let world: PostgresWorld;
  beforeAll(async () => {
    world = await openPostgresWorld();
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  /** Streams that the proxy has opened to the database. */
  const streams = (): number =>
    world.cluster.control
      .printed()
      .split("\n")
      .filter((line) => line.includes("stream opened") && line.includes("kind=db")).length;
  const starts = async (): Promise<readonly string[]> => (await auditEvents(world.cluster, "db.session.start")).map(({ sid }) => String(sid));

  async function client(port: number, socket = new Socket()): Promise<Client> {
    const made = new Client({ host: "127.0.0.1", port, user: "reader", database: "orders", stream: () => socket });
    made.on("error", () => {});
    await made.connect();
    return made;
  }

  test("share a connection to the agent: one after the other, and forty at once; each is a session of its own", { timeout: 120_000 }, async () => {
    await using tunnel = await databaseTunnel(world.alice, "orders");
    const before = streams();
    for (let round = 0; round < 5; round += 1) expect(await psql(tunnel.port, ["select 1"])).toMatchObject({ status: 0, stdout: "1\n" });
    expect(streams() - before).toBe(1);
    const many = await Promise.all(Array.from({ length: 40 }, async () => await client(tunnel.port)));
    const pids = await Promise.all(many.map(async (one) => (await one.query("select pg_backend_pid() as pid")).rows[0].pid as number));
    expect(new Set(pids).size).toBe(40);
    expect(streams() - before).toBeLessThanOrEqual(3);
    await until("all have begun in the audit log", async () => (await starts()).length === 45);
    expect(new Set(await starts()).size).toBe(45);
    // Large answers and small ones beside each other.
    const [first, ...others] = many;
    const large = first?.query("select repeat('x', 1000) from generate_series(1, 50000)");
    for (const one of others) expect((await one.query("select 7 as seven")).rows).toEqual([{ seven: 7 }]);
    expect((await large)?.rowCount).toBe(50_000);
    await Promise.all(many.map(async (one) => await one.end()));
    await until("all have ended in the audit log", async () => (await auditEvents(world.cluster, "db.session.end")).length === 45);
  });

  test("one that ends, also in the middle of an answer, leaves the others", async () => {
    await using tunnel = await databaseTunnel(world.alice, "orders");
    const socket = new Socket();
    const [kept, cut] = [await client(tunnel.port), await client(tunnel.port, socket)];
    const endless = cut.query("select repeat('x', 1000) from generate_series(1, 5000000)").catch(() => "cut");
    await kept.query("select 1");
    socket.destroy();
    expect(await endless).toBe("cut");
    expect((await kept.query("select 2 as two")).rows).toEqual([{ two: 2 }]);
    await until("the server has one session left", async () => {
      const rows = await kept.query("select count(*)::int as count from pg_stat_activity where usename = 'reader'");
      return rows.rows[0].count === 1;
    });
    await kept.end();
  });
});
