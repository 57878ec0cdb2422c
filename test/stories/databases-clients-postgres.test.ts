import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import type { User } from "../world/cluster-user.ts";
import { DatabaseWorld } from "../world/database-world.ts";
import { embeddedPostgres } from "../world/embedded-postgres.ts";
import { because, ifPossible, NotHere } from "../world/not-here.ts";
import { noJdbc, postgresPool } from "../world/postgres-jdbc.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../world/postgres-server.ts";
import { type RunOptions, run, start } from "../world/program.ts";
import { cancelRequest, gssRequest, RawPostgres, sslRequest, startupPacket } from "../world/raw-postgres.ts";
import { rounds } from "../world/rounds.ts";
import { sidPrograms } from "../world/sid-programs.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

describe.skipIf(noPostgres !== undefined)(`clients of PostgreSQL${because(noPostgres)}`, () => {
  let world: DatabaseWorld;
  let debian: PostgresServer;
  let newest: PostgresServer | NotHere;
  let psql18: string | NotHere;
  let alice: User;

  beforeAll(async () => {
    world = await DatabaseWorld.open();
    const signed = await world.sign("db");
    [debian, newest, psql18] = await Promise.all([
      startPostgres({ signed, folder: world.folder("pg") }),
      ifPossible(async () => await startPostgres({ signed, folder: world.folder("pg18"), native: await embeddedPostgres() })),
      ifPossible(async () => (await sidPrograms()).path("psql")),
    ]);
    const servers = [debian, newest].filter((one): one is PostgresServer => !(one instanceof NotHere));
    for (const server of servers) {
      world.use(server);
      for (const text of ["create role reader login", "create role writer login", "create database orders"]) await server.sql(text);
    }
    await world.offer(servers.map(({ port: at }, index) => ({ name: index === 0 ? "orders" : "orders-18", protocol: "postgres", at })));
    alice = await world.user("alice", { db_users: ["reader"], db_names: ["orders", "missing"] });
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  /** Each server with the psql of its version; a reason where one of the two is not here. */
  const pairs = [
    ["PostgreSQL 15 and psql 15", () => ({ name: "orders", psql: "psql", server: debian })],
    ["PostgreSQL 18 and psql 18", () => ({ name: "orders-18", psql: psql18, server: newest })],
  ] as const;
  const at = (port: number, more = "user=reader dbname=orders") => `host=127.0.0.1 port=${port} ${more}`;
  const serverOf = (name: string): PostgresServer => (name === "orders" ? debian : (newest as PostgresServer));

  describe.each(pairs)("%s", (_title, pair) => {
    const need = (skip: (note: string) => never): { name: string; psql: string; server: PostgresServer } => {
      const { name, psql, server } = pair();
      if (psql instanceof NotHere) return skip(psql.message);
      if (server instanceof NotHere) return skip(server.message);
      return { name, psql, server };
    };

    test("after tsh db login, psql service=… is the account of a certificate that lives as long as the user's", async ({ skip }) => {
      const { name, psql } = need(skip);
      const env = { HOME: alice.home, PGSERVICEFILE: `${alice.home}/${name}.conf` };
      const logged = await alice.tsh(["db", "login", name, "--db-user=reader", "--db-name=orders", "--format=json"], { env });
      expect(logged, logged.stderr).toMatchObject({ status: 0 });
      const { port } = JSON.parse(logged.stdout) as { port: number };
      await using _local = await databaseTunnel(alice, name, [`--port=${port}`]);
      const facts = "select client_dn, version from pg_stat_ssl where pid = pg_backend_pid()";
      const done = await run(psql, ["-XAt", `service=test.cluster-${name}`, "-c", "select current_user", "-c", facts], { env });
      expect(done).toMatchObject({ status: 0, stdout: "reader\n/CN=reader|TLSv1.3\n", stderr: "" });
      const { expires } = await audited(world.cluster, "cert.create", (event) => event.kind === "db_client" && event.name === "reader");
      const own = await audited(world.cluster, "cert.create", (event) => event.kind === "user" && event.name === "alice");
      expect(Date.parse(String(expires))).toBeLessThanOrEqual(Date.parse(String(own.expires)));
      expect((await alice.tsh(["db", "logout", name], { env })).status).toBe(0);
    });

    test("refusals have an SQLSTATE: the rule's, the server's, and that of a database that is not stated", async ({ skip }) => {
      const { name, psql } = need(skip);
      await using local = await databaseTunnel(alice, name, ["--tunnel"]);
      const refused = async (more: string): Promise<string> => {
        const done = await run(psql, ["-X", "-v", "VERBOSITY=verbose", at(local.port, more), "-c", "select 1"]);
        expect(done).toMatchObject({ status: 2, stdout: "" });
        return done.stderr;
      };
      expect(await refused("user=writer dbname=orders")).toMatch(/FATAL: .*alice may not connect as writer/);
      expect(await refused("user=reader")).toMatch(/FATAL: .*may not use database reader/);
      expect(await refused("user=reader dbname=missing")).toMatch(/FATAL: .*database "missing" does not exist/);
      await using raw = await RawPostgres.open(local.port);
      raw.send(startupPacket({ user: "reader", database: "missing" }));
      expect((await raw.until("E")).at(-1)?.body.toString()).toMatch(/\0C3D000\0/);
      await using other = await RawPostgres.open(local.port);
      other.send(startupPacket({ user: "writer", database: "orders" }));
      expect((await other.until("E")).at(-1)?.body.toString()).toMatch(/\0C28000\0/);
      await using unnamed = await RawPostgres.open(local.port);
      unnamed.send(startupPacket({ user: "reader" }));
      expect((await unnamed.until("E")).at(-1)?.body.toString()).toMatch(/\0C28000\0.*database reader/s);
    });

    /** Runs a sleep by this command, sends it SIGINT, and measures until it is cancelled, ms. */
    const cancelled = async (server: PostgresServer, command: readonly string[], options: RunOptions = {}): Promise<number> => {
      const client = start("setsid", command, options);
      let said = "";
      for (const stream of [client.stdout, client.stderr]) stream?.on("data", (chunk: Buffer) => (said += chunk.toString()));
      const running = "select count(*) from pg_stat_activity where query like 'select pg_sleep(61)%' and state = 'active'";
      await until("the query runs", async () => (await server.sql(running)).trim() === "1");
      const begin = performance.now();
      // As a terminal does: to all processes of its group.
      process.kill(-(client.pid ?? 0), "SIGINT");
      await once(client, "close");
      expect(said).toMatch(/canceling statement due to user request/);
      return performance.now() - begin;
    };

    test("Ctrl-C cancels at once, through a tunnel and through tsh db connect", async ({ skip }) => {
      const { name, psql, server } = need(skip);
      await using local = await databaseTunnel(alice, name, ["--tunnel"]);
      const sleep = ["-XAt", "-c", "select pg_sleep(61)"];
      expect(await cancelled(server, [psql, at(local.port), ...sleep])).toBeLessThan(1_000);
      const env = { TSH_HOME: alice.home, ...(psql !== "psql" && { PATH: `${psql.replace(/\/psql$/, "")}:${process.env.PATH}` }) };
      const connect = [alice.executable, "db", "connect", "--db-user=reader", "--db-name=orders", name, ...sleep];
      // The end of tsh itself counts too.
      expect(await cancelled(server, connect, { env })).toBeLessThan(rounds(1_000, 3_000));
    });

    test("a key that was guessed cancels nothing, not even with the process of a session", async ({ skip }) => {
      const { name } = need(skip);
      await using local = await databaseTunnel(alice, name, ["--tunnel"]);
      await using session = await RawPostgres.open(local.port);
      session.send(startupPacket({ user: "reader", database: "orders" }));
      const key = (await session.until("Z")).find(({ type }) => type === "K")?.body ?? Buffer.alloc(8);
      expect(key).toHaveLength(8);
      const [processId, secret] = [key.readUInt32BE(0), key.readUInt32BE(4)];
      const query = async (text: string): Promise<string[]> => {
        session.send(Buffer.concat([Buffer.of(0x51, 0, 0, 0, 5 + text.length), Buffer.from(`${text}\0`)]));
        const running = `select count(*) from pg_stat_activity where query = '${text}' and state = 'active'`;
        await until("the query runs", async () => (await serverOf(name).sql(running)).trim() === "1");
        for (const wrong of [cancelRequest(processId, secret ^ 1), cancelRequest(12_345, 67_890)]) {
          await using guess = await RawPostgres.open(local.port);
          guess.send(wrong);
          expect(await guess.take(1)).toHaveLength(0);
        }
        return (await session.until("Z")).map(({ type }) => type);
      };
      expect(await query("select pg_sleep(2)")).not.toContain("E");
    });

    test("requests for encryption are answered in their order, and nothing may hide behind one", async ({ skip }) => {
      const { name } = need(skip);
      await using local = await databaseTunnel(alice, name, ["--tunnel"]);
      await using polite = await RawPostgres.open(local.port);
      for (const request of [gssRequest, sslRequest]) {
        polite.send(request);
        expect((await polite.take(1)).toString()).toBe("N");
      }
      polite.send(startupPacket({ user: "reader", database: "orders" }));
      expect((await polite.until("Z")).at(-1)?.type).toBe("Z");
      await using hiding = await RawPostgres.open(local.port);
      hiding.send(Buffer.concat([sslRequest, startupPacket({ user: "reader", database: "orders" })]));
      const types = (await hiding.until("Z")).map(({ type }) => type);
      expect(types).not.toContain("Z");
    });
  });

  test("psql 18 with the newest protocol: 3.2 at PostgreSQL 18, 3.0 at 15; Ctrl-C works with the long key", async ({ skip }) => {
    if (psql18 instanceof NotHere) return skip(psql18.message);
    if (newest instanceof NotHere) return skip(newest.message);
    const psql = psql18;
    const version = async (name: string): Promise<string | undefined> => {
      await using local = await databaseTunnel(alice, name, ["--tunnel"]);
      const done = await run(psql, ["-XAt", at(local.port, "user=reader dbname=orders max_protocol_version=latest"), "-c", "\\conninfo"]);
      return /^Protocol Version\|(.*)$/m.exec(done.stdout)?.[1] ?? done.stderr;
    };
    expect([await version("orders-18"), await version("orders")]).toEqual(["3.2", "3.0"]);
    await using local = await databaseTunnel(alice, "orders-18", ["--tunnel"]);
    await using raw = await RawPostgres.open(local.port);
    raw.send(startupPacket({ user: "reader", database: "orders" }, 2));
    expect((await raw.until("Z")).find(({ type }) => type === "K")?.body).toHaveLength(4 + 32);
    const client = start(psql, ["-X", at(local.port, "user=reader dbname=orders max_protocol_version=latest"), "-c", "select pg_sleep(62)"]);
    const said: string[] = [];
    client.stderr?.on("data", (chunk: Buffer) => said.push(chunk.toString()));
    const running = "select count(*) from pg_stat_activity where query = 'select pg_sleep(62)' and state = 'active'";
    const server = newest;
    await until("the query runs", async () => (await server.sql(running)).trim() === "1");
    const closed = once(client, "close");
    client.kill("SIGINT");
    await closed;
    expect(said.join("")).toMatch(/canceling statement due to user request/);
  });

  test("an unknown parameter of the protocol is answered by the server's negotiation", async ({ skip }) => {
    if (newest instanceof NotHere) return skip(newest.message);
    await using local = await databaseTunnel(alice, "orders-18", ["--tunnel"]);
    await using raw = await RawPostgres.open(local.port);
    raw.send(startupPacket({ user: "reader", database: "orders", "_pq_.x": "1" }));
    const messages = await raw.until("Z");
    expect(messages.find(({ type }) => type === "v")?.body.toString()).toContain("_pq_.x");
    expect(messages.at(-1)?.type).toBe("Z");
  });

  test.skipIf(noJdbc !== undefined)(
    `JDBC: 20 connections; the statements that the driver names are in the audit log with their values${because(noJdbc)}`,
    async () => {
      await using local = await databaseTunnel(alice, "orders", ["--tunnel"]);
      const printed = await postgresPool({ port: local.port, database: "orders", count: 20 });
      // 20 times 2 + 3 + … + 7.
      expect(printed).toMatch(/^540 15\./);
      await audited(world.cluster, "db.session.postgres.statements.parse", (event) => event.statement_name === "S_1");
      // Numbers are in binary form, texts in their own.
      const six = Buffer.of(0, 0, 0, 6).toString("base64");
      await audited(world.cluster, "db.session.postgres.statements.bind", (event) => {
        return event.statement_name === "S_1" && JSON.stringify(event.parameters) === JSON.stringify([six, "seven", null]);
      });
      await audited(world.cluster, "db.session.postgres.statements.execute", (event) => String(event.db_query).startsWith("select $1::int + 1"));
    },
  );
});
