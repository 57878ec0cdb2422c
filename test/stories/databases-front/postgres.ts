import { once } from "node:events";
import { connect } from "node:net";
import { Client } from "pg";
import { describe, expect, test } from "vitest";
import { audited } from "../../world/audited.ts";
import { balancerAddress, type DatabaseFront, portOf } from "../../world/database-front.ts";
import { because, ifPossible, NotHere } from "../../world/not-here.ts";
import { lackOf, startPassingBalancer } from "../../world/passing-balancer.ts";
import { noJdbc, postgresPool } from "../../world/postgres-jdbc.ts";
import { noPostgres } from "../../world/postgres-server.ts";
import { type Finished, run } from "../../world/program.ts";
import { cancelRequest } from "../../world/raw-postgres.ts";
import { rounds } from "../../world/rounds.ts";
import { sidPrograms } from "../../world/sid-programs.ts";
import { tlsOf } from "../../world/tls-files.ts";
import { until } from "../../world/until.ts";

/** Stock clients of PostgreSQL. */
export function testPostgresClients(front: () => DatabaseFront): void {
  describe.skipIf(noPostgres !== undefined)(`PostgreSQL${because(noPostgres)}`, () => {
    test("psql by the service that tsh has written, by variables, and on the web port", async () => {
      const config = await front().logIn("orders", "--db-name=postgres");
      const query = ["-c", "select current_user || ' ' || client_dn from pg_stat_ssl where pid = pg_backend_pid()"];
      expect(await front().psql("service=test.cluster-orders.direct", ...query)).toMatchObject({
        status: 0,
        stdout: "reader /CN=reader\n",
        stderr: "",
      });
      const id = (await front().cluster.admin("status", "--format=json")).match(/"id": ?"([0-9a-f-]{36})"/)?.[1];
      expect(id).toBeDefined();
      await audited(
        front().cluster,
        "db.session.start",
        (event) => event.user === "alice" && event.db_user === "reader" && typeof event.relayed_by === "string",
      );
      const variables = JSON.parse((await front().tsh("db", "env", "--direct", "--format=json", "orders")).stdout) as Record<string, string>;
      expect(await run("psql", ["-XAt", ...query], { env: { ...front().env(), ...variables } })).toMatchObject({
        status: 0,
        stdout: "reader /CN=reader\n",
      });
      const files = `sslmode=verify-full sslrootcert=${config.ca} sslcert=${config.cert} sslkey=${config.key}`;
      const web = `host=127.0.0.1 port=${front().cluster.ports.web} user=reader dbname=postgres ${files}`;
      expect(await front().psql(web, ...query)).toMatchObject({ status: 0, stdout: "reader /CN=reader\n" });
      expect((await run("curl", ["-ksf", `https://${front().cluster.proxy}/webapi/ping`])).stdout).toContain(
        `"postgres_public_addr":"${config.direct}"`,
      );
    });

    describe.each([{ kind: "haproxy send-proxy" }, { kind: "nginx proxy_protocol" }] as const)("$kind", ({ kind }) => {
      const lack = lackOf(kind);
      test.skipIf(lack !== undefined)(
        `psql at the port of PostgreSQL and the web port: the audit log has the address of psql${because(lack)}`,
        async () => {
          const config = await front().logIn("orders", "--db-name=postgres");
          const to = { postgres: portOf(config), web: front().cluster.ports.web };
          await using balancer = await startPassingBalancer({ kind, from: balancerAddress, to });
          const files = `sslmode=verify-full sslrootcert=${config.ca} sslcert=${config.cert} sslkey=${config.key}`;
          for (const [name, port] of Object.entries(balancer.ports)) {
            const query = `select '${name} ${kind}'`;
            const done = await front().psql(`host=127.0.0.1 port=${port} user=reader dbname=postgres ${files}`, "-c", query);
            expect(done).toMatchObject({ status: 0, stdout: `${name} ${kind}\n`, stderr: "" });
            const event = await audited(front().cluster, "db.session.query", { db_query: query });
            expect(event["addr.remote"]).toMatch(/^127\.0\.0\.1:\d+$/);
          }
        },
      );
    });

    test("psql 18 at PostgreSQL 18: TLS at once on the web port, protocol 3.2 on either port, and its cancel", async ({ skip }) => {
      const programs = await ifPossible(sidPrograms);
      if (programs instanceof NotHere) return skip(programs.message);
      const { postgres: server } = front().newest;
      if (server instanceof NotHere) return skip(server.message);
      const config = await front().logIn("orders-18", "--db-name=postgres");
      const files = `sslmode=verify-full sslrootcert=${config.ca} sslcert=${config.cert} sslkey=${config.key}`;
      const to = (port: number): string => `host=127.0.0.1 port=${port} user=reader dbname=postgres max_protocol_version=latest`;
      const [web, own] = [to(front().cluster.ports.web), to(portOf(config))];
      const psql18 = async (conninfo: string, ...args: readonly string[]): Promise<Finished> =>
        await run(programs.path("psql"), ["-XAt", conninfo, ...args], { env: front().env() });
      const withoutCertificate = `${web} sslmode=verify-full sslrootcert=${config.ca} sslnegotiation=direct`;
      expect((await psql18(withoutCertificate, "-c", "select 1")).stderr).toMatch(/no client certificate/);
      for (const conninfo of [`${web} ${files} sslnegotiation=direct`, `${own} ${files}`]) {
        const done = await psql18(conninfo, "-c", "select current_user", "-c", "\\conninfo");
        expect(done).toMatchObject({ status: 0, stdout: expect.stringMatching(/^reader\n.*\nProtocol Version\|3\.2\n/s) });
        expect((await front().interrupt(server, programs.path("psql"), conninfo)).said).toMatch(/canceling statement due to user request/);
      }
    });

    test("refusals are psql's: no certificate, another account, plain text, a certificate of the login", async () => {
      const config = await front().logIn("orders", "--db-name=postgres");
      const to = `host=127.0.0.1 port=${portOf(config)} dbname=postgres`;
      const files = `sslmode=verify-full sslrootcert=${config.ca}`;
      const own = `${files} sslcert=${config.cert} sslkey=${config.key}`;
      const refused = async (conninfo: string): Promise<string> => {
        const { status, stderr } = await front().psql(conninfo, "-c", "select 1");
        expect(status).toBe(2);
        return stderr;
      };
      expect(await refused(`${to} user=reader ${files}`)).toMatch(/FATAL: +no client certificate was presented/);
      expect(await refused(`${to} user=writer ${own}`)).toMatch(/FATAL: .*reader/);
      expect(await refused(`${to} user=reader sslmode=disable`)).toMatch(/FATAL: +this port requires TLS/);
      const profile = config.ca.replace(/ca\.pem$/, "");
      const login = `${files} sslcert=${profile}tls.crt sslkey=${profile}tls.key`;
      expect(await refused(`${to} user=reader ${login}`)).toMatch(/FATAL: +access denied: the certificate of alice is not for one database/);
      await audited(front().cluster, "auth", (event) => String(event.error).includes("not for one database"));
    });

    test("Ctrl-C in psql cancels the query", async () => {
      await front().logIn("orders", "--db-name=postgres");
      const { said, ms } = await front().interrupt(front().servers.postgres, "psql", "service=test.cluster-orders.direct");
      expect(said).toMatch(/canceling statement due to user request/);
      expect(ms).toBeLessThan(rounds(1_000, 3_000));
      await audited(front().cluster, "db.session.cancel", { user: "alice", success: true });
    });

    test("a request to cancel works through another proxy; a key that is not the session's does nothing", async () => {
      const config = await front().logIn("orders", "--db-name=postgres");
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
      await ask(front().secondPort, processID + 1, secretKey);
      expect(await Promise.race([sleep, new Promise((resolve) => setTimeout(resolve, 700, "still running"))])).toBe("still running");
      let isOver = false;
      void sleep.then(() => (isOver = true));
      await until("it is cancelled: the agent has a tunnel to the second proxy", async () => {
        await ask(front().secondPort, processID, secretKey);
        return isOver;
      });
      expect(await sleep).toBe("57014");
      await client.end();
      expect(front().second.service.exited).toBe(false);
    });
  });

  test("PostgreSQL's JDBC: two connections and their statements", async ({ skip }) => {
    const missing = noPostgres ?? noJdbc;
    if (missing !== undefined) return skip(missing.message);
    const tls = await front().config("orders", "--db-name=postgres");
    expect(await postgresPool({ port: portOf(tls), database: "postgres", count: 2, tls })).toMatch(/^54 15\./);
  });
}
