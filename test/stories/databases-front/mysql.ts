import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import { audited } from "../../world/audited.ts";
import { balancerAddress, type DatabaseFront, portOf } from "../../world/database-front.ts";
import { noMariadb } from "../../world/database-servers.ts";
import { connectorJ, mysqlClients } from "../../world/mysql-clients.ts";
import { because, ifPossible, NotHere } from "../../world/not-here.ts";
import { lackOf, startPassingBalancer } from "../../world/passing-balancer.ts";
import { run, start } from "../../world/program.ts";
import { long } from "../../world/rounds.ts";
import { tlsOf } from "../../world/tls-files.ts";
import { until } from "../../world/until.ts";

/** Stock clients of MySQL and MariaDB. */
export function testMysqlClients(front: () => DatabaseFront): void {
  test.skipIf(noMariadb !== undefined)(
    `MySQL's protocol: mariadb by the group that tsh has written, mysql2 with any password; the greeting is the configured one${because(noMariadb)}`,
    async () => {
      const config = await front().logIn("shop");
      const file = `--defaults-file=${join(front().alice.home, ".my.cnf")}`;
      const query = "select current_user(), version()";
      const done = await run("mariadb", [file, "--defaults-group-suffix=_test.cluster-shop.direct", "-BNe", query], { env: front().env() });
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
        env: front().env(),
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
      await audited(front().cluster, "db.session.query", (event) => event.db_query === query && typeof event.relayed_by === "string");
    },
  );

  /** Its version is not the one that the port guesses at. */
  const mysqlServers = [
    { title: "MariaDB", name: "shop", here: () => noMariadb },
    { title: "MySQL 9.7", name: "shop-9", here: () => front().newest.mysql },
  ];
  describe.each(mysqlServers)("$title", ({ name, here }) => {
    test.for(Object.entries(mysqlClients))(
      "%s verifies the port, and is the account of its certificate with any password",
      async ([, client], { skip }) => {
        const server = here();
        if (server instanceof NotHere) return skip(server.message);
        const tls = await front().config(name);
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
      const tls = await front().config(name);
      const printed = await ifPossible(() => connectorJ({ port: portOf(tls), tls }, "of_java"));
      if (printed instanceof NotHere) return skip(printed.message);
      expect(printed).toBe("seven 100000\nrefused\n");
    });
  });

  test("MySQL 9.7 behind the port: parameters, several result sets, and an error are as they are without it", async ({ skip }) => {
    const { mysql: server } = front().newest;
    if (server instanceof NotHere) return skip(server.message);
    const tls = await front().config("shop-9");
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
      await front().logIn("shop");
      const args = [`--defaults-file=${join(front().alice.home, ".my.cnf")}`, "--defaults-group-suffix=_test.cluster-shop.direct", "-BNn", "--force"];
      const child = start("mariadb", args, { env: front().env() });
      let said = "";
      for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (said += String(chunk)));
      const id = (word: string): string => `select concat('${word} ', connection_id());\n`;
      child.stdin?.write(`${id("before")}select sleep(60);\n`);
      await until(
        "the query runs",
        async () => (await front().servers.mariadb?.sql("select info from information_schema.processlist"))?.includes("sleep(60)") === true,
      );
      child.kill("SIGINT");
      await until(
        "it is killed",
        async () => !(await front().servers.mariadb?.sql("select info from information_schema.processlist"))?.includes("select sleep(60)"),
      );
      child.stdin?.end(id("after"));
      await once(child, "close");
      // The client would connect again by itself.
      const [before, after] = ["before", "after"].map((word) => new RegExp(`^${word} (\\d+)$`, "m").exec(said)?.[1]);
      expect(after, said).toBeDefined();
      expect(after, said).toBe(before);
    },
  );
}
