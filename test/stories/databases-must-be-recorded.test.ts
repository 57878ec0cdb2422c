import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import type { Cluster, ClusterOptions } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { DatabaseWorld } from "../world/database-world.ts";
import { listRecordings } from "../world/list-recordings.ts";
import { because } from "../world/not-here.ts";
import { played } from "../world/played.ts";
import { noPostgres, startPostgres } from "../world/postgres-server.ts";
import { output } from "../world/program.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

describe.skipIf(noPostgres !== undefined)(`sessions of databases that must be recorded${because(noPostgres)}`, () => {
  interface World extends AsyncDisposable {
    readonly cluster: Cluster;
    readonly alice: User;
    readonly spool: string;
  }

  /** A PostgreSQL behind an agent whose folder of recordings is a small disk. */
  async function world(options: ClusterOptions, record: "strict" | "best_effort"): Promise<World> {
    const opened = await DatabaseWorld.open(options);
    const { cluster } = opened;
    const server = opened.use(await startPostgres({ signed: await opened.sign("db"), folder: opened.folder("p") }));
    await server.sql("create role reader login");
    const spool = join(cluster.dir, "agent-db-1", "data", "agent", "recordings");
    await mkdir(spool, { recursive: true, mode: 0o700 });
    await output("mount", ["-t", "tmpfs", "-o", "size=512k", "tmpfs", spool]);
    opened.use({ [Symbol.asyncDispose]: async () => void (await output("umount", ["-l", spool])) });
    await opened.offer([{ name: "orders", protocol: "postgres", at: server.port }]);
    const alice = await opened.user("alice", { db_users: ["reader"], db_names: ["postgres"] }, { record_session: { default: record } });
    return { cluster, alice, spool, [Symbol.asyncDispose]: async () => await opened[Symbol.asyncDispose]() };
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
