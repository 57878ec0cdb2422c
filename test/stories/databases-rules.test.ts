import { once } from "node:events";
import { appendFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { createConnection } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents, audited } from "../world/audited.ts";
import type { User, UserOptions } from "../world/cluster-user.ts";
import { type DatabaseServer, type Mariadb, noMariadb, noRedis, startMariadb, startRedis } from "../world/database-servers.ts";
import { holdPsql } from "../world/held-psql.ts";
import { MongoServer } from "../world/mongo-server.ts";
import { because } from "../world/not-here.ts";
import { noPostgres } from "../world/postgres-server.ts";
import { entry, mayUse, openPostgresWorld, type PostgresWorld, psql, psqlArguments } from "../world/postgres-world.ts";
import { output, run, start } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { RawPostgres, startupPacket } from "../world/raw-postgres.ts";
import { rounds } from "../world/rounds.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

/** Bytes of a query that is longer than an event may hold. */
const longQuery = 5 * 1024 * 1024;

const missing = noPostgres ?? noMariadb ?? noRedis;

describe.skipIf(missing !== undefined)(`the rules of database sessions${because(missing)}`, () => {
  let world: PostgresWorld;
  let mariadb: Mariadb;
  let redis: DatabaseServer;
  let mongo: MongoServer;
  let eve: User;
  /** The agent's audit events on their way: in a small file system of its own. */
  let spool = "";

  beforeAll(async () => {
    world = await openPostgresWorld({
      prepare: async ({ admin, dir }) => {
        spool = join(dir, "agent-db-1", "data", "agent", "audit");
        await mkdir(spool, { recursive: true, mode: 0o700 });
        await output("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", spool]);
        const sign = async (format: string): Promise<string> => {
          const out = join(dir, format);
          await admin("auth", "sign", `--format=${format}`, "--host=127.0.0.1,localhost", `--out=${out}`);
          return out;
        };
        mariadb = await startMariadb({ signed: await sign("mysql"), folder: join(dir, "m") });
        await mariadb.sql("create user reader require subject '/CN=reader'; create database shop; grant all on shop.* to reader");
        redis = await startRedis({ signed: await sign("redis"), folder: join(dir, "r") }, ["user reader on >hunter2 ~* &* +@all"]);
        const forMongo = await sign("mongodb");
        const pem = await readFile(`${forMongo}.crt`);
        mongo = new MongoServer({ tls: { key: pem, cert: pem, ca: await readFile(`${forMongo}.cas`) }, accounts: ["CN=reader"] });
        await mongo.open();
        const at = (port: number): string => `127.0.0.1:${port}`;
        return entry("shop", "mysql", at(mariadb.port)) + entry("cache", "redis", at(redis.port)) + entry("docs", "mongodb", at(mongo.port));
      },
    });
    // She logs in later, twice: then there is a fresh one-time code each time.
    eve = await userWith("eve", { max_session_ttl: "25s", disconnect_expired_cert: true }, { noLogin: true });
  });
  afterAll(async () => {
    if (spool !== "") await output("umount", ["-l", spool]).catch(() => {});
    await world?.[Symbol.asyncDispose]();
    for (const server of [mariadb, redis, mongo]) await server?.[Symbol.asyncDispose]();
  });

  /** A user with alice's rights and these options. */
  async function userWith(name: string, options: object, more: UserOptions = {}): Promise<User> {
    await putRole(world.cluster, `role-${name}`, { ...mayUse, options });
    return await world.cluster.user(name, { roles: `role-${name}`, ...more });
  }

  /** Statements that make psql print the SQLSTATE too. */
  const verbose = "\\set VERBOSITY verbose\n";

  test("an idle session ends in its protocol's words: psql sees 57P05, a client of MariaDB the reason", async () => {
    const ida = await userWith("ida", { client_idle_timeout: "2s" });
    await using local = await databaseTunnel(ida, "orders");
    await using client = await holdPsql(local.port);
    client.type(verbose);
    await using shop = await databaseTunnel(ida, "shop");
    const mysql = await createConnection({ host: "127.0.0.1", port: shop.port, user: "reader", database: "shop" });
    const told = once(mysql as NodeJS.EventEmitter, "error");
    await using cache = await databaseTunnel(ida, "cache", ["--db-user=reader"]);
    const heard = rawRedis(cache.port, "PING");
    await audited(
      world.cluster,
      "db.session.end",
      (event) => event.user === "ida" && event.db_service === "orders" && /no activity for 2s/.test(String(event.reason)),
    );
    client.type("select 1;\n");
    await client.until(/FATAL: {2}57P05: this connection was ended: there was no activity for 2s/);
    expect(String((await told)[0])).toMatch(/this connection was ended: there was no activity for 2s/);
    // In Redis nobody expects an answer then.
    expect(await heard).toBe("+OK\r\n+PONG\r\n");
  });

  /** Logs in, sends a command, and waits for what the server says until the end of the connection. */
  async function rawRedis(port: number, command: string): Promise<string> {
    const socket = connect({ port, host: "127.0.0.1" });
    let said = "";
    socket.on("data", (chunk: Buffer) => (said += chunk.toString())).on("error", () => {});
    socket.write(`AUTH reader hunter2\r\n${command}\r\n`);
    await once(socket, "close");
    return said;
  }

  test("a lock ends everything of its user within seconds, also in the middle of a COPY, whose rows are whole up to there", async () => {
    const lou = await userWith("lou", {});
    await using local = await databaseTunnel(lou, "orders", ["--tunnel"]);
    await using shop = await databaseTunnel(lou, "shop");
    await using cache = await databaseTunnel(lou, "cache", ["--db-user=reader"]);
    await using docs = await databaseTunnel(lou, "docs", ["--db-user=reader"]);
    // A pause now and then, so that it lasts.
    const rows = "select i, md5(i::text), case when i % 100 = 0 then pg_sleep(0.005) end from generate_series(1, 20000000) i";
    const copy = start("psql", [...psqlArguments(local.port), "-c", verbose.trim(), "-c", `copy (${rows}) to stdout`]);
    let [copied, failed] = ["", ""];
    copy.stdout?.on("data", (chunk: Buffer) => (copied += chunk.toString()));
    copy.stderr?.on("data", (chunk: Buffer) => (failed += chunk.toString()));
    const ended = once(copy, "close");
    await until("rows come", () => copied.length > 100_000);
    const mysql = await createConnection({ host: "127.0.0.1", port: shop.port, user: "reader", database: "shop" });
    const told = once(mysql as NodeJS.EventEmitter, "error");
    const heard = rawRedis(cache.port, "BLPOP nothing 0");
    const uri = `mongodb://127.0.0.1:${docs.port}/?directConnection=true`;
    const client = await MongoClient.connect(uri, { serverSelectionTimeoutMS: 10_000 });
    expect(await client.db("orders").collection("list").findOne({})).toBeNull();
    const began = performance.now();
    await world.cluster.admin("lock", "--user=lou", "--message=laptop stolen", "--ttl=1h");
    const [status] = await ended;
    expect(performance.now() - began).toBeLessThan(rounds(5_000, 8_000));
    expect(status).not.toBe(0);
    expect(failed).toMatch(/FATAL: {2}57P01: .*laptop stolen/);
    const lines = copied.split("\n");
    expect(lines.pop()).toBe("");
    expect(lines.every((line, index) => line.startsWith(`${index + 1}\t`) && /^\d+\t[0-9a-f]{32}\t/.test(line))).toBe(true);
    expect(String((await told)[0])).toMatch(/laptop stolen/);
    expect(await heard).toMatch(/^\+OK\r\n-\w+ .*laptop stolen/);
    await expect(client.db("orders").collection("list").findOne({})).rejects.toThrow();
    await client.close();
    await audited(world.cluster, "db.session.end", (event) => event.user === "lou" && /laptop stolen/.test(String(event.reason)));
    const refused = await psql(local.port, ["select 1"]);
    expect(refused.status).toBe(2);
  });

  test("a session ends with its certificate where a role wants that, and a new login goes on through the same tunnel", {
    timeout: 150_000,
  }, async () => {
    expect((await eve.login()).status).toBe(0);
    await using local = await databaseTunnel(eve, "orders");
    await using client = await holdPsql(local.port);
    client.type(verbose);
    await audited(world.cluster, "db.session.end", (event) => event.user === "eve" && /the certificate of eve expired/.test(String(event.reason)));
    client.type("select 1;\n");
    await client.until(/FATAL: {2}57P01: this connection was ended: the certificate of eve expired/);
    expect((await psql(local.port, ["select 1"])).status).toBe(2);
    await putRole(world.cluster, "role-eve", mayUse);
    expect((await eve.login()).status).toBe(0);
    expect(await psql(local.port, ["select 1"])).toMatchObject({ status: 0, stdout: "1\n" });
  });

  /** What each client sends when its session is open, and no client of its protocol would; MongoDB's is in `databases-clients-mongodb`. */
  const malformed: readonly {
    readonly service: string;
    readonly payload: Buffer;
    readonly send: (port: number, payload: Buffer) => Promise<void>;
  }[] = [
    {
      service: "orders",
      payload: Buffer.of(0x51, 0, 0, 0, 3),
      send: async (port, payload) => {
        await using raw = await RawPostgres.open(port);
        raw.send(startupPacket({ user: "reader", database: "orders" }));
        expect((await raw.until("Z")).at(-1)?.type).toBe("Z");
        raw.send(payload);
        expect((await raw.until("Z")).map(({ type }) => type)).not.toContain("Z");
      },
    },
    {
      service: "shop",
      payload: Buffer.of(1, 0, 0, 7, 0x0e),
      send: async (port, payload) => {
        const connection = await createConnection({ host: "127.0.0.1", port, user: "reader", database: "shop" });
        const ended = once(connection as NodeJS.EventEmitter, "error");
        const { stream } = Reflect.get(connection, "connection") as { readonly stream: Socket };
        stream.write(payload);
        await ended;
      },
    },
    {
      service: "cache",
      payload: Buffer.from("*1\r\n$-5\r\n"),
      send: async (port, payload) => {
        expect(await rawRedis(port, payload.toString())).toMatch(/^\+OK\r\n/);
      },
    },
  ];
  test.for(malformed)("$service: a malformed frame ends the session, and is in the audit log", async ({ service, payload, send }) => {
    await using local = await databaseTunnel(world.alice, service, ["--db-user=reader"]);
    await send(local.port, payload);
    const event = await audited(world.cluster, "db.session.malformed_packet", { db_service: service, user: "alice" });
    const shown = Buffer.from(String(event.payload), "base64");
    expect(shown).toEqual(payload.subarray(0, shown.length));
    await audited(world.cluster, "db.session.end", (one) => one.sid === event.sid);
  });

  test("a query of 5 MiB is one event, cut, with its whole length", async () => {
    await using local = await databaseTunnel(world.alice, "orders");
    const file = join(world.cluster.dir, "long.sql");
    const text = `select length('${"ä".repeat(longQuery / 2)}')`;
    await writeFile(file, `${text};\n`);
    const done = await run("psql", [...psqlArguments(local.port), "-f", file], { limitMs: 120_000 });
    expect(done, done.stderr).toMatchObject({ status: 0, stdout: `${longQuery / 2}\n` });
    const event = await audited(world.cluster, "db.session.query", (one) => String(one.db_query).startsWith("select length('ä"));
    expect(String(event.db_query).length).toBeLessThanOrEqual(16_384);
    expect(String(event.db_query)).not.toMatch(/\uFFFD/);
    expect(Number(event.db_query_bytes)).toBeGreaterThan(longQuery);
    const all = await auditEvents(world.cluster, "db.session.query");
    expect(all.filter((one) => String(one.db_query).includes("äää"))).toHaveLength(1);
  });

  test("when the host cannot keep audit events, a strict session ends with the reason, and another one goes on", { timeout: 120_000 }, async () => {
    const sam = await userWith("sam", { record_session: { default: "strict" } });
    const ben = await userWith("ben", { record_session: { default: "best_effort" } });
    const [strictly, freely] = [await databaseTunnel(sam, "orders"), await databaseTunnel(ben, "orders")];
    const strict = await holdPsql(strictly.port);
    const lenient = await holdPsql(freely.port);
    const filler = join(spool, "filler");
    let hasEnded = false;
    void strict.ended.then(() => {
      hasEnded = true;
    });
    await until("the strict session has ended", async () => {
      // Events that are sent make room again.
      await appendFile(filler, Buffer.alloc(2 * 1024 * 1024)).catch(() => {});
      strict.type(`select length('${"x".repeat(10_000)}');\n`);
      return hasEnded;
    });
    expect(strict.said()).toMatch(/FATAL: .*the host could not record what it did \(record_session: strict\)/);
    await lenient.ask();
    await rm(filler);
    await lenient.ask();
    expect(await psql(strictly.port, ["select 1"])).toMatchObject({ status: 0, stdout: "1\n" });
    for (const one of [strict, lenient, strictly, freely]) await one[Symbol.asyncDispose]();
  });
});
