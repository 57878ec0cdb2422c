import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { createConnection } from "mysql2/promise";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import type { Cluster } from "../world/cluster.ts";
import { balancerAddress, type DatabaseFront, type DirectConfig, openDatabaseFront, portOf } from "../world/database-front.ts";
import { noMariadb, noRedis } from "../world/database-servers.ts";
import { mongosh } from "../world/mongosh.ts";
import { connectorJ, mysqlClients } from "../world/mysql-clients.ts";
import { because, ifPossible, NotHere } from "../world/not-here.ts";
import { lackOf, startPassingBalancer } from "../world/passing-balancer.ts";
import { noJdbc, postgresPool } from "../world/postgres-jdbc.ts";
import { noPostgres } from "../world/postgres-server.ts";
import { type Finished, run, start } from "../world/program.ts";
import { noPymongo, pymongo } from "../world/pymongo.ts";
import { cancelRequest } from "../world/raw-postgres.ts";
import { redisClients } from "../world/redis-clients.ts";
import { long, rounds } from "../world/rounds.ts";
import { sidPrograms } from "../world/sid-programs.ts";
import { tlsOf } from "../world/tls-files.ts";
import { until } from "../world/until.ts";

describe("databases for stock clients, without tsh between them and the proxy", () => {
  let front: DatabaseFront;
  let cluster: Cluster;

  beforeAll(async () => {
    front = await openDatabaseFront();
    ({ cluster } = front);
  });
  afterAll(async () => await front?.[Symbol.asyncDispose]());

  /** Of logins that several tests share. */
  const configs = new Map<string, Promise<DirectConfig>>();
  const configOf = (name: string, ...more: readonly string[]): Promise<DirectConfig> => {
    const known = configs.get(name) ?? front.logIn(name, ...more);
    configs.set(name, known);
    return known;
  };
  const mongoUri = ({ direct, ca, cert }: DirectConfig): string =>
    `mongodb://${direct}/?directConnection=true&tls=true&tlsCAFile=${ca}&tlsCertificateKeyFile=${cert.replace(/crt$/, "pem")}`;

  describe.skipIf(noPostgres !== undefined)(`PostgreSQL${because(noPostgres)}`, () => {
    test("psql by the service that tsh has written, by variables, and on the web port", async () => {
      const config = await front.logIn("orders", "--db-name=postgres");
      const query = ["-c", "select current_user || ' ' || client_dn from pg_stat_ssl where pid = pg_backend_pid()"];
      expect(await front.psql("service=test.cluster-orders.direct", ...query)).toMatchObject({
        status: 0,
        stdout: "reader /CN=reader\n",
        stderr: "",
      });
      const id = (await cluster.admin("status", "--format=json")).match(/"id": ?"([0-9a-f-]{36})"/)?.[1];
      expect(id).toBeDefined();
      await audited(
        cluster,
        "db.session.start",
        (event) => event.user === "alice" && event.db_user === "reader" && typeof event.relayed_by === "string",
      );
      const variables = JSON.parse((await front.tsh("db", "env", "--direct", "--format=json", "orders")).stdout) as Record<string, string>;
      expect(await run("psql", ["-XAt", ...query], { env: { ...front.env(), ...variables } })).toMatchObject({
        status: 0,
        stdout: "reader /CN=reader\n",
      });
      const files = `sslmode=verify-full sslrootcert=${config.ca} sslcert=${config.cert} sslkey=${config.key}`;
      const web = `host=127.0.0.1 port=${cluster.ports.web} user=reader dbname=postgres ${files}`;
      expect(await front.psql(web, ...query)).toMatchObject({ status: 0, stdout: "reader /CN=reader\n" });
      expect((await run("curl", ["-ksf", `https://${cluster.proxy}/webapi/ping`])).stdout).toContain(`"postgres_public_addr":"${config.direct}"`);
    });

    describe.each([{ kind: "haproxy send-proxy" }, { kind: "nginx proxy_protocol" }] as const)("$kind", ({ kind }) => {
      const lack = lackOf(kind);
      test.skipIf(lack !== undefined)(
        `psql at the port of PostgreSQL and the web port: the audit log has the address of psql${because(lack)}`,
        async () => {
          const config = await front.logIn("orders", "--db-name=postgres");
          const to = { postgres: portOf(config), web: cluster.ports.web };
          await using balancer = await startPassingBalancer({ kind, from: balancerAddress, to });
          const files = `sslmode=verify-full sslrootcert=${config.ca} sslcert=${config.cert} sslkey=${config.key}`;
          for (const [name, port] of Object.entries(balancer.ports)) {
            const query = `select '${name} ${kind}'`;
            const done = await front.psql(`host=127.0.0.1 port=${port} user=reader dbname=postgres ${files}`, "-c", query);
            expect(done).toMatchObject({ status: 0, stdout: `${name} ${kind}\n`, stderr: "" });
            const event = await audited(cluster, "db.session.query", { db_query: query });
            expect(event["addr.remote"]).toMatch(/^127\.0\.0\.1:\d+$/);
          }
        },
      );
    });

    test("psql 18 at PostgreSQL 18: TLS at once on the web port, protocol 3.2 on either port, and its cancel", async ({ skip }) => {
      const programs = await ifPossible(sidPrograms);
      if (programs instanceof NotHere) return skip(programs.message);
      const { postgres: server } = front.newest;
      if (server instanceof NotHere) return skip(server.message);
      const config = await front.logIn("orders-18", "--db-name=postgres");
      const files = `sslmode=verify-full sslrootcert=${config.ca} sslcert=${config.cert} sslkey=${config.key}`;
      const to = (port: number): string => `host=127.0.0.1 port=${port} user=reader dbname=postgres max_protocol_version=latest`;
      const [web, own] = [to(cluster.ports.web), to(portOf(config))];
      const psql18 = async (conninfo: string, ...args: readonly string[]): Promise<Finished> =>
        await run(programs.path("psql"), ["-XAt", conninfo, ...args], { env: front.env() });
      const withoutCertificate = `${web} sslmode=verify-full sslrootcert=${config.ca} sslnegotiation=direct`;
      expect((await psql18(withoutCertificate, "-c", "select 1")).stderr).toMatch(/no client certificate/);
      for (const conninfo of [`${web} ${files} sslnegotiation=direct`, `${own} ${files}`]) {
        const done = await psql18(conninfo, "-c", "select current_user", "-c", "\\conninfo");
        expect(done).toMatchObject({ status: 0, stdout: expect.stringMatching(/^reader\n.*\nProtocol Version\|3\.2\n/s) });
        expect((await front.interrupt(server, programs.path("psql"), conninfo)).said).toMatch(/canceling statement due to user request/);
      }
    });

    test("refusals are psql's: no certificate, another account, plain text, a certificate of the login", async () => {
      const config = await front.logIn("orders", "--db-name=postgres");
      const to = `host=127.0.0.1 port=${portOf(config)} dbname=postgres`;
      const files = `sslmode=verify-full sslrootcert=${config.ca}`;
      const own = `${files} sslcert=${config.cert} sslkey=${config.key}`;
      const refused = async (conninfo: string): Promise<string> => {
        const { status, stderr } = await front.psql(conninfo, "-c", "select 1");
        expect(status).toBe(2);
        return stderr;
      };
      expect(await refused(`${to} user=reader ${files}`)).toMatch(/FATAL: +no client certificate was presented/);
      expect(await refused(`${to} user=writer ${own}`)).toMatch(/FATAL: .*reader/);
      expect(await refused(`${to} user=reader sslmode=disable`)).toMatch(/FATAL: +this port requires TLS/);
      const profile = config.ca.replace(/ca\.pem$/, "");
      const login = `${files} sslcert=${profile}tls.crt sslkey=${profile}tls.key`;
      expect(await refused(`${to} user=reader ${login}`)).toMatch(/FATAL: +access denied: the certificate of alice is not for one database/);
      await audited(cluster, "auth", (event) => String(event.error).includes("not for one database"));
    });

    test("Ctrl-C in psql cancels the query", async () => {
      await front.logIn("orders", "--db-name=postgres");
      const { said, ms } = await front.interrupt(front.servers.postgres, "psql", "service=test.cluster-orders.direct");
      expect(said).toMatch(/canceling statement due to user request/);
      expect(ms).toBeLessThan(rounds(1_000, 3_000));
      await audited(cluster, "db.session.cancel", { user: "alice", success: true });
    });

    test("a request to cancel works through another proxy; a key that is not the session's does nothing", async () => {
      const config = await front.logIn("orders", "--db-name=postgres");
      const port = portOf(config);
      const client = new Client({ host: "127.0.0.1", port, user: "reader", database: "postgres", ssl: tlsOf(config) });
      await client.connect();
      // Its types leave them out.
      const [processID = 0, secretKey = 0] = ["processID", "secretKey"].map((field) => Number(Reflect.get(client, field)));
      const ask = async (at: number, pid: number, secret: number): Promise<void> => {
        const socket = connect(at, "127.0.0.1");
        socket.write(cancelRequest(pid, secret));
        socket.resume();
        await once(socket, "close");
      };
      const sleep = client.query("select pg_sleep(30)").then(
        () => "slept",
        (error: { readonly code?: string }) => error.code,
      );
      await ask(port, processID, secretKey ^ 1);
      await ask(front.secondPort, processID + 1, secretKey);
      expect(await Promise.race([sleep, new Promise((resolve) => setTimeout(resolve, 700, "still running"))])).toBe("still running");
      let isOver = false;
      void sleep.then(() => (isOver = true));
      await until("it is cancelled: the agent has a tunnel to the second proxy", async () => {
        await ask(front.secondPort, processID, secretKey);
        return isOver;
      });
      expect(await sleep).toBe("57014");
      await client.end();
      expect(front.second.service.exited).toBe(false);
    });
  });

  test.skipIf(noMariadb !== undefined)(
    `MySQL's protocol: mariadb by the group that tsh has written, mysql2 with any password; the greeting is the configured one${because(noMariadb)}`,
    async () => {
      const config = await front.logIn("shop");
      const file = `--defaults-file=${join(front.alice.home, ".my.cnf")}`;
      const query = "select current_user(), version()";
      const done = await run("mariadb", [file, "--defaults-group-suffix=_test.cluster-shop.direct", "-BNe", query], { env: front.env() });
      expect(done).toMatchObject({ status: 0, stderr: "", stdout: expect.stringMatching(/^reader@%\t10\.\d+\.\d+-MariaDB/) });
      const greeting = connect(portOf(config), "127.0.0.1");
      const [bytes] = (await once(greeting, "data")) as [Buffer];
      greeting.destroy();
      expect(bytes.toString("latin1", 5, 17)).toBe("8.0.99-front");
      // A server that speaks first, behind a balancer.
      const kind = "haproxy send-proxy-v2";
      await using balancer = lackOf(kind) ? undefined : await startPassingBalancer({ kind, from: balancerAddress, to: { mysql: portOf(config) } });
      for (const [password, port] of [
        ["", portOf(config)],
        ["anything", balancer?.ports.mysql ?? portOf(config)],
      ] as const) {
        const ssl = { ...tlsOf(config), rejectUnauthorized: true };
        const connection = await createConnection({ host: "127.0.0.1", port, user: "reader", password, database: "shop", ssl });
        expect((await connection.query("select 1 as one"))[0]).toEqual([{ one: 1 }]);
        expect((await connection.execute("select ? as two", ["2"]))[0]).toEqual([{ two: "2" }]);
        await connection.end();
      }
      const denied = await run("mariadb", [file, "--defaults-group-suffix=_test.cluster-shop.direct", "--user=writer", "-e", "select 1"], {
        env: front.env(),
      });
      expect(denied.stderr).toMatch(/ERROR 1045 \(28000\): .*reader/);
      const bare = await run("mariadb", [
        "--no-defaults",
        "--protocol=TCP",
        "-h127.0.0.1",
        `-P${portOf(config)}`,
        "-ureader",
        "--ssl",
        "-e",
        "select 1",
      ]);
      expect(bare.stderr).toMatch(/ERROR 1045 \(28000\): no client certificate/);
      await audited(cluster, "db.session.query", (event) => event.db_query === query && typeof event.relayed_by === "string");
    },
  );

  /** Its version is not the one that the port guesses at. */
  const mysqlServers = [
    { title: "MariaDB", name: "shop", here: () => noMariadb },
    { title: "MySQL 9.7", name: "shop-9", here: () => front.newest.mysql },
  ];
  describe.each(mysqlServers)("$title", ({ name, here }) => {
    test.for(Object.entries(mysqlClients))(
      "%s verifies the port, and is the account of its certificate with any password",
      async ([, client], { skip }) => {
        const server = here();
        if (server instanceof NotHere) return skip(server.message);
        const tls = await configOf(name);
        for (const password of ["", "anything"]) {
          const who = await ifPossible(() => client({ port: portOf(tls), password, tls }));
          if (who instanceof NotHere) return skip(who.message);
          expect(who).toBe("reader@%");
        }
      },
    );

    test("Connector/J prepares at the server and sends long data", async ({ skip }) => {
      if (name === "shop" && !long) return skip("Connector/J at MariaDB through the port runs in make test-long");
      const server = here();
      if (server instanceof NotHere) return skip(server.message);
      const tls = await configOf(name);
      const printed = await ifPossible(() => connectorJ({ port: portOf(tls), tls }, "of_java"));
      if (printed instanceof NotHere) return skip(printed.message);
      expect(printed).toBe("seven 100000\nrefused\n");
    });
  });

  test("MySQL 9.7 behind the port: parameters, several result sets, and an error are as they are without it", async ({ skip }) => {
    if (front.newest.mysql instanceof NotHere) return skip(front.newest.mysql.message);
    const tls = await configOf("shop-9");
    const ssl = { ...tlsOf(tls), rejectUnauthorized: true };
    const connection = await createConnection({
      host: "127.0.0.1",
      port: portOf(tls),
      user: "reader",
      database: "shop",
      ssl,
      multipleStatements: true,
    });
    expect((await connection.execute("select ? as two, ? as none", ["2", null]))[0]).toEqual([{ two: "2", none: null }]);
    expect((await connection.query({ sql: "select 1 as one; select version() as own", attributes: { traceparent: "00-1" } }))[0]).toEqual([
      [{ one: 1 }],
      [{ own: expect.stringMatching(/^9\./) }],
    ]);
    await expect(connection.query("select * from missing")).rejects.toMatchObject({ errno: 1146 });
    await connection.end();
  });

  test.skipIf(noMariadb !== undefined)(
    `Ctrl-C in mariadb: the query is killed by the number that the port has given, and the session lives${because(noMariadb)}`,
    async () => {
      await front.logIn("shop");
      const args = [`--defaults-file=${join(front.alice.home, ".my.cnf")}`, "--defaults-group-suffix=_test.cluster-shop.direct", "-BNn", "--force"];
      const child = start("mariadb", args, { env: front.env() });
      let said = "";
      for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (said += String(chunk)));
      const id = (word: string): string => `select concat('${word} ', connection_id());\n`;
      child.stdin?.write(`${id("before")}select sleep(60);\n`);
      await until(
        "the query runs",
        async () => (await front.servers.mariadb?.sql("select info from information_schema.processlist"))?.includes("sleep(60)") === true,
      );
      child.kill("SIGINT");
      await until(
        "it is killed",
        async () => !(await front.servers.mariadb?.sql("select info from information_schema.processlist"))?.includes("select sleep(60)"),
      );
      child.stdin?.end(id("after"));
      await once(child, "close");
      // The client would connect again by itself.
      const [before, after] = ["before", "after"].map((word) => new RegExp(`^${word} (\\d+)$`, "m").exec(said)?.[1]);
      expect(after, said).toBeDefined();
      expect(after, said).toBe(before);
    },
  );

  test.skipIf(noRedis !== undefined)(
    `Redis: redis-cli by the command that tsh prints, with the account's own password${because(noRedis)}`,
    async () => {
      const { direct_command: command } = await front.logIn("cache");
      const cli = async (...more: readonly string[]): Promise<Finished> =>
        await run("sh", ["-c", `${command} --no-auth-warning --user reader --pass hunter2 ${more.join(" ")}`], { env: front.env() });
      expect((await cli("SET", "k", "v")).stdout).toBe("OK\n");
      expect((await cli("-3", "GET", "k")).stdout).toMatch(/v\n/);
      const [host, port] = ["127.0.0.1", command.match(/-p (\d+)/)?.[1] ?? ""];
      const bare = await run("redis-cli", ["-h", host, "-p", port, "--tls", "--insecure", "PING"]);
      expect(`${bare.stdout}${bare.stderr}`).toMatch(/NOAUTH no client certificate/);
    },
  );

  const redisServers = [
    { title: "Redis 7, by a password", name: "cache", password: "hunter2", here: () => noRedis },
    { title: "Valkey 9, by the certificate alone", name: "cache-9", password: undefined, here: () => front.newest.valkey },
  ];
  describe.each(redisServers)("$title", ({ name, password, here }) => {
    test.for(Object.entries(redisClients))("%s is the account", async ([, client], { skip }) => {
      const server = here();
      if (server instanceof NotHere) return skip(server.message);
      const tls = await configOf(name);
      const who = await ifPossible(() => client({ port: portOf(tls), password, tls }));
      if (who instanceof NotHere) return skip(who.message);
      expect(who).toBe("reader");
    });
  });

  test("PostgreSQL's JDBC: two connections and their statements", async ({ skip }) => {
    const missing = noPostgres ?? noJdbc;
    if (missing !== undefined) return skip(missing.message);
    const tls = await configOf("orders", "--db-name=postgres");
    expect(await postgresPool({ port: portOf(tls), database: "postgres", count: 2, tls })).toMatch(/^54 15\./);
  });

  test("pymongo", async ({ skip }) => {
    if (noPymongo !== undefined) return skip(noPymongo.message);
    const tls = await configOf("docs", "--db-name=orders");
    expect(await pymongo(mongoUri(tls), "orders")).toMatch(/^of python\n/);
  });

  test("mongosh", async ({ skip }) => {
    const shell = await ifPossible(mongosh);
    if (shell instanceof NotHere) return skip(shell.message);
    const tls = await configOf("docs", "--db-name=orders");
    const text = 'const orders = db.getSiblingDB("orders"); orders.shell.insertOne({ name: "of mongosh" }); print(orders.shell.findOne().name)';
    const done = await run(shell, ["--quiet", mongoUri(tls), "--eval", text], { env: front.env(), limitMs: 60_000 });
    expect(done).toMatchObject({ status: 0, stdout: "of mongosh\n" });
  });

  test("MongoDB (a server of ours): the driver by certificate, without and with directConnection; a refusal comes at once", async () => {
    const config = await front.logIn("docs", "--db-name=orders");
    const tls = { tls: true, tlsCAFile: config.ca, tlsCertificateKeyFile: config.cert.replace(/crt$/, "pem"), serverSelectionTimeoutMS: 20_000 };
    for (const directConnection of [true, false]) {
      const client = await MongoClient.connect(`mongodb://${config.direct}/`, { ...tls, directConnection });
      const list = client.db("orders").collection("list");
      await list.insertOne({ name: "seven" });
      expect(await list.findOne({ name: "seven" })).toMatchObject({ name: "seven" });
      await client.close();
    }
    const began = performance.now();
    const bare = new MongoClient(`mongodb://${config.direct}/`, { tls: true, tlsCAFile: config.ca, directConnection: true });
    await expect(bare.db("orders").collection("list").findOne({})).rejects.toMatchObject({ code: 18 });
    expect(performance.now() - began).toBeLessThan(10_000);
    await bare.close();
  });

  test("a lock refuses the next connection, and ends the running ones with the reason", async () => {
    const { direct_command: command } = await front.logIn("docs", "--db-name=orders");
    expect(command).toContain("mongosh");
    const config = await front.logIn("docs", "--db-name=orders");
    const tls = { tls: true, tlsCAFile: config.ca, tlsCertificateKeyFile: config.cert.replace(/crt$/, "pem"), directConnection: true };
    const client = await MongoClient.connect(`mongodb://${config.direct}/`, tls);
    await client.db("orders").collection("list").findOne({});
    await cluster.admin("lock", "--user=alice", "--message=audit");
    await until("the driver is refused", async () => {
      try {
        await client.db("orders").collection("list").findOne({});
        return false;
      } catch (thrown) {
        return String(thrown).includes("audit");
      }
    });
    await client.close();
  });
});
