import * as mariadb from "mariadb";
import { createConnection } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import type { User } from "../world/cluster-user.ts";
import type { DatabaseServer, Mariadb } from "../world/database-servers.ts";
import type { DatabaseWorld } from "../world/database-world.ts";
import { commandLine, connectorJ, mariadbCli, mysqlCli, mysqlClients } from "../world/mysql-clients.ts";
import { openMysqlWorld } from "../world/mysql-world.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { type Finished, run, start } from "../world/program.ts";
import { sidPrograms } from "../world/sid-programs.ts";
import type { Mysql } from "../world/sid-servers.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

const setup = `create user reader require subject '/CN=reader'; create user writer require subject '/CN=somebody'; create database shop;
  create database secret; grant all on shop.* to reader`;

describe("clients of MySQL and MariaDB", () => {
  let world: DatabaseWorld;
  let ofMariadb: Mariadb | NotHere;
  let ofMysql: Mysql | NotHere;
  let alice: User;

  beforeAll(async () => {
    ({ world, mariadb: ofMariadb, mysql: ofMysql } = await openMysqlWorld([setup]));
    alice = await world.user("alice", { db_users: ["reader", "writer"], db_names: [] });
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  const servers = [
    { title: "MariaDB 10.11", name: "shop-mariadb", version: /10\.11\.\d+-MariaDB/, get: () => ofMariadb },
    { title: "MySQL 9.7", name: "shop-mysql", version: /9\.\d+\.\d+/, get: () => ofMysql },
  ];
  /** Skips the test where what it needs is not here. */
  const unless = async <T>(skip: (note: string) => never, make: () => Promise<T>): Promise<T> => {
    const made = await ifPossible(make);
    return made instanceof NotHere ? skip(made.message) : made;
  };

  describe.each(servers)("$title", ({ name, version, get }) => {
    const need = (skip: (note: string) => never): DatabaseServer => {
      const server = get();
      return server instanceof NotHere ? skip(server.message) : server;
    };

    test.for(Object.entries(mysqlClients))(
      "%s is the account of the certificate, with an empty password and with any other",
      async ([, client], { skip }) => {
        need(skip);
        await using local = await databaseTunnel(alice, name);
        for (const password of ["", "any thing"]) expect(await unless(skip, () => client({ port: local.port, password }))).toBe("reader@%");
      },
    );

    test("the greeting has the server's own version", async ({ skip }) => {
      need(skip);
      await using local = await databaseTunnel(alice, name);
      const shown = (text: string) => /^Server version:\s+(.*)$/m.exec(text)?.[1];
      const old = await mariadbCli({ port: local.port }, "-e", "\\s");
      expect(shown(old.stdout), old.stderr).toMatch(version);
      const done = await unless(skip, () => mysqlCli({ port: local.port }, "--commands", "-e", "\\s"));
      expect(shown(done.stdout), done.stderr).toMatch(version);
    });

    test("tsh db connect runs mysql where there is no mariadb", async ({ skip }) => {
      need(skip);
      const { folder } = await unless(skip, sidPrograms);
      const done = await alice.tsh(["db", "connect", "--db-user=reader", "--db-name=shop", name, "-BNe", "select database()"], {
        env: { PATH: folder },
      });
      expect(done).toMatchObject({ status: 0, stdout: "shop\n" });
    });

    test("tsh db exec runs a statement, and its status is the client's", async ({ skip }) => {
      need(skip);
      const exec = async (sql: string): Promise<Finished> =>
        await alice.tsh(["db", "exec", sql, "--db-user=reader", "--db-name=shop", `--dbs=${name}`]);
      const done = await exec("select concat(current_user(), ' in ', database(), ' of ', version())");
      expect(done).toMatchObject({ status: 0, stdout: expect.stringMatching(/reader@% in shop of /) });
      expect(done.stdout).toMatch(version);
      const wrong = await exec("select nonsense");
      expect(wrong.status).not.toBe(0);
      expect(wrong.stdout + wrong.stderr).toMatch(/ERROR 1054 /);
    });

    test("refusals have the numbers of the protocol: by the role, of the certificate, of the schema", async ({ skip }) => {
      need(skip);
      await using local = await databaseTunnel(alice, name);
      const refused = async (user: string, database?: string) =>
        await createConnection({ host: "127.0.0.1", port: local.port, user, ...(database !== undefined && { database }) }).then(
          () => undefined,
          (error: { errno: number; message: string }) => error,
        );
      expect(await refused("root")).toMatchObject({ errno: 1045, message: expect.stringMatching(/alice may not connect as root/) });
      expect(await refused("writer")).toMatchObject({ errno: 1045, message: expect.stringMatching(/Access denied for user 'writer'/) });
      expect(await refused("reader", "secret")).toMatchObject({ errno: 1044, message: expect.stringMatching(/to database 'secret'/) });
      const cli = await mariadbCli({ port: local.port, user: "root" }, "-e", "select 1");
      expect(cli.stderr).toMatch(/^ERROR 1045 \(28000\).*may not connect as root/);
    });

    test("a query is in the audit log as it was written, with attributes of the query and without", async ({ skip }) => {
      need(skip);
      await using local = await databaseTunnel(alice, name);
      const text = `select 'by ${name}' /* mysql2 */`;
      const connection = await createConnection({ host: "127.0.0.1", port: local.port, user: "reader" });
      await connection.query({ sql: `${text}, 1`, attributes: { traceparent: "00-1234", number: 7 } });
      await connection.query(text);
      await connection.end();
      for (const query of [text, `${text}, 1`]) await audited(world.cluster, "db.session.query", { db_service: name, db_query: query });
      const script = `query_attributes one two;\nselect 'by ${name}' as cli;\n`;
      const cli = await unless(skip, async () => (await sidPrograms()).path("mysql"));
      expect(await run(cli, [...commandLine({ port: local.port }), "--ssl-mode=DISABLED", "--commands", "-BN"], { input: script })).toMatchObject({
        status: 0,
      });
      await audited(world.cluster, "db.session.query", { db_service: name, db_query: `select 'by ${name}' as cli` });
    });

    test("prepared statements are in the audit log with their values: numbers, texts, NULL and times", async ({ skip }) => {
      need(skip);
      await using local = await databaseTunnel(alice, name);
      const connection = await createConnection({ host: "127.0.0.1", port: local.port, user: "reader", database: "shop", timezone: "Z" });
      await connection.execute(`select ?, ?, ?, ? as \`${name}\``, [7, "seven", null, new Date("2026-11-23T10:00:00Z")]);
      await connection.end();
      const event = await audited(world.cluster, "db.session.mysql.statements.execute", (one) => String(one.statement).includes(name));
      expect(event.parameters).toMatchObject(["7", "seven", null, expect.stringMatching(/^2026-11-23 10:00:00/)]);
    });

    test("Connector/J: prepared by the server, with long data that is marked by its size; with any password", async ({ skip }) => {
      need(skip);
      await using local = await databaseTunnel(alice, name);
      const printed = await unless(skip, () => connectorJ({ port: local.port, password: "any" }, "of_java"));
      expect(printed).toBe("seven 100000\nrefused\n");
      const event = await audited(world.cluster, "db.session.mysql.statements.execute", (one) => {
        return one.db_service === name && String(one.statement).startsWith("insert into of_java");
      });
      expect(event.parameters).toEqual(["1", "seven", "(100000 bytes of long data)"]);
    });

    test("LOAD DATA LOCAL is refused by its number, whatever client and server allow, and the connection goes on", async ({ skip }) => {
      need(skip);
      const server = get() as Mariadb | Mysql;
      await server.sql("set global local_infile = 1; create table shop.loaded (line text)");
      await using local = await databaseTunnel(alice, name);
      const errno = name === "shop-mariadb" ? 4166 : 3948;
      const sql = "load data local infile '/etc/passwd' into table loaded";
      const connection = await createConnection({ host: "127.0.0.1", port: local.port, user: "reader", database: "shop" });
      const infileStreamFactory = () => {
        throw new Error("asked for");
      };
      await expect(connection.query({ sql, infileStreamFactory })).rejects.toMatchObject({ errno });
      expect((await connection.query("select count(*) as count from loaded"))[0]).toEqual([{ count: 0 }]);
      await connection.end();
      // An -e takes an earlier --force back.
      const args = ["--local-infile=1", "-BN", "--database=shop", "-e", `${sql}; select concat('still ', 'here', count(*)) from loaded`, "--force"];
      const cli = name === "shop-mariadb" ? mariadbCli : mysqlCli;
      const done = await unless(skip, () => cli({ port: local.port }, ...args));
      expect(done.stderr).toMatch(new RegExp(`^ERROR ${errno} `, "m"));
      expect(done.stdout, done.stderr).toBe("still here0\n");
    });

    test("another account on the same connection is refused, and the connection goes on; a reset passes", async ({ skip }) => {
      need(skip);
      await using local = await databaseTunnel(alice, name);
      const connection = await createConnection({ host: "127.0.0.1", port: local.port, user: "reader" });
      await expect(connection.changeUser({ user: "writer" })).rejects.toMatchObject({ errno: 1045 });
      await connection.query("set @mine = 7");
      await connection.reset();
      expect((await connection.query("select @mine as mine"))[0]).toEqual([{ mine: null }]);
      await connection.end();
      await audited(world.cluster, "db.session.query", { db_service: name, db_query: "COM_CHANGE_USER writer", success: false });
    });

    test("the binary log is refused, and that is in the audit log", async ({ skip }) => {
      need(skip);
      await using local = await databaseTunnel(alice, name);
      const args = [...commandLine({ port: local.port }), "--read-from-remote-server", "binlog.000001"];
      const done = await unless(skip, async () =>
        name === "shop-mariadb"
          ? await run("mariadb-binlog", [...args, "--skip-ssl"])
          : await run((await sidPrograms()).path("mysqlbinlog"), [...args, "--ssl-mode=DISABLED"]),
      );
      expect(done.status).not.toBe(0);
      expect(done.stderr).toMatch(/copies of the whole server do not pass/);
      await audited(world.cluster, "db.session.query", (event) => {
        return event.db_service === name && event.success === false && /^COM_(REGISTER_SLAVE|BINLOG_DUMP)/.test(String(event.db_query));
      });
    });

    test("Ctrl-C ends the query, and the session goes on", async ({ skip }) => {
      need(skip);
      const server = get() as Mariadb | Mysql;
      await using local = await databaseTunnel(alice, name);
      const [command, tls] =
        name === "shop-mariadb"
          ? ["mariadb", "--skip-ssl"]
          : [await unless(skip, async () => (await sidPrograms()).path("mysql")), "--ssl-mode=DISABLED"];
      const client = start(command, [...commandLine({ port: local.port }), tls, "-BNnf"]);
      let said = "";
      for (const stream of [client.stdout, client.stderr]) stream?.on("data", (chunk: Buffer) => (said += chunk.toString()));
      client.stdin?.write("select sleep(63);\n");
      const running = "select count(*) from information_schema.processlist where info = 'select sleep(63)'";
      await until("the query runs", async () => (await server.sql(running)).trim() === "1");
      client.kill("SIGINT");
      await until("the query is gone", async () => (await server.sql(running)).trim() === "0");
      client.stdin?.end("select concat('still ', 'here');\n");
      await expect.poll(() => said).toContain("still here");
    });
  });

  test("MariaDB: the rows of a bulk execution are counted", async ({ skip }) => {
    if (ofMariadb instanceof NotHere) return skip(ofMariadb.message);
    await using local = await databaseTunnel(alice, "shop-mariadb");
    const connection = await mariadb.createConnection({
      host: "127.0.0.1",
      port: local.port,
      user: "reader",
      database: "shop",
      connectTimeout: 30_000,
    });
    await connection.query("create table bulk (id int, name varchar(20))");
    const rows = Array.from({ length: 30 }, (_none, index) => [index, index === 7 ? null : `row ${index}`]);
    await connection.batch("insert into bulk values (?, ?)", rows);
    expect(await connection.query("select count(*) as rows_, count(name) as named from bulk")).toMatchObject([{ rows_: 30n, named: 29n }]);
    await connection.end();
    await audited(world.cluster, "db.session.mysql.statements.bulk_execute", { db_service: "shop-mariadb", rows_count: 30 });
  });
});
