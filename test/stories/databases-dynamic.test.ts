import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import { because } from "../world/not-here.ts";
import { noPostgres } from "../world/postgres-server.ts";
import { isOffered, openPostgresWorld, type PostgresWorld, psql } from "../world/postgres-world.ts";
import { program, type RunOptions, run } from "../world/program.ts";
import { rounds } from "../world/rounds.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

/** From `tctl create` to a change that users notice, with the time of one `tsh db ls`, ms. */
const soonMs = rounds(5_000, 7_000);

describe.skipIf(noPostgres !== undefined)(`databases of the cluster, and what tsh prints of databases${because(noPostgres)}`, () => {
  let world: PostgresWorld;

  beforeAll(async () => {
    world = await openPostgresWorld({ dbService: "  resources:\n    - labels: { env: test }\n" });
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  /** Creates a `db` resource, or replaces it. */
  async function put(name: string, spec: object = {}): Promise<void> {
    const metadata = { name, labels: { env: "test", tier: "two" } };
    const whole = { protocol: "postgres", uri: `127.0.0.1:${world.server.port}`, ...spec };
    const done = await world.cluster.tctl(["create", "-f", "-"], { input: JSON.stringify({ kind: "db", version: "v3", metadata, spec: whole }) });
    if (done.status !== 0) throw new Error(done.stderr);
  }

  interface Listed {
    readonly name: string;
    readonly health: string;
    readonly agents: readonly { readonly error?: string }[];
  }
  const listed = async (): Promise<readonly Listed[]> => JSON.parse((await tsh("db", "ls", "--format=json")).stdout) as Listed[];
  const find = async (name: string): Promise<Listed | undefined> => (await listed()).find((one) => one.name === name);
  /** With a home of her own, where the files of clients are. */
  const tsh = (...args: readonly string[]) => world.alice.tsh(args, own());
  const own = (): RunOptions => ({ env: { HOME: world.alice.home } });

  test("a database is offered, changed and taken away within seconds, while nothing restarts", async () => {
    await put("books");
    await until("it is offered", async () => (await find("books")) !== undefined, soonMs);
    await using local = await databaseTunnel(world.alice, "books");
    expect(await psql(local.port, ["select current_user"])).toMatchObject({ status: 0, stdout: "reader\n" });
    await put("books", { uri: "127.0.0.1:1" });
    await until("its new address is tried", async () => /books is unreachable/.test((await psql(local.port, ["select 1"])).stderr), soonMs);
    await put("books");
    await until("its old address serves again", async () => (await psql(local.port, ["select 1"])).status === 0, soonMs);
    await world.cluster.admin("rm", "db/books");
    await until("it is not offered", async () => (await find("books")) === undefined, soonMs);
    expect((await psql(local.port, ["select 1"])).status).toBe(2);
    expect(local.said()).toMatch(/no connected agent offers database "books"/);
    for (const event of ["db.create", "db.update", "db.delete"]) await audited(world.cluster, event, (one) => one.name === "books");
  });

  test("a database with bad settings affects no other one, and one that the file has too is reported", async () => {
    await put("bad", { tls: { server_name: "other.test" } });
    await until("the reason is listed", async () => /other\.test|hostname|name/i.test((await find("bad"))?.agents[0]?.error ?? ""));
    const refused = await world.cluster.tctl(["create", "-f", "-"], {
      input: JSON.stringify({
        ...{ kind: "db", version: "v3", metadata: { name: "worse", labels: { env: "test" } } },
        spec: { protocol: "postgres", uri: "127.0.0.1:1", tls: { ca_cert: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----" } },
      }),
    });
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringMatching(/must be certificates in PEM: one of them cannot be read/) });
    await put("orders", { uri: "127.0.0.1:1" });
    await until("the agent reports it", () => /the configuration file of this host has another one of this name/.test(world.agent.service.printed()));
    await using local = await databaseTunnel(world.alice, "orders");
    expect(await psql(local.port, ["select 1"])).toMatchObject({ status: 0 });
    for (const name of ["bad", "orders"]) await world.cluster.admin("rm", `db/${name}`);
    await until("they are gone", async () => (await listed()).length === 1);
  });

  test("db login, config, env, ls and logout print the same for people, scripts and clients", async () => {
    await until("it is healthy", async () => (await find("orders"))?.health === "healthy");
    const done = await tsh("db", "login", "orders", "--db-user=reader", "--db-name=orders", "--port=21577");
    expect(done).toMatchObject({ status: 0, stderr: "" });
    expect(done.stdout).toMatch(/^Logged in to database orders \(postgres\) as reader, database orders\.\n/);
    expect(done.stdout).toContain(`\nIts settings for clients are in ${world.alice.home}/.pg_service.conf.\n\n`);
    expect(done.stdout).toContain(`Connect at once:      tsh db connect orders
Or keep this running: tsh proxy db orders --port=21577
and connect with:     psql service=test.cluster-orders
`);
    const facts = { name: "orders", protocol: "postgres", host: "127.0.0.1", port: 21_577, user: "reader", database: "orders" };
    expect(JSON.parse((await tsh("db", "config", "orders", "--format=json")).stdout)).toMatchObject(facts);
    expect((await tsh("db", "config", "orders", "--format=cmd")).stdout).toBe("psql service=test.cluster-orders\n");
    expect((await tsh("db", "config", "orders", "--format=yaml")).stdout).toMatch(
      /^name: orders\nprotocol: postgres\nhost: 127\.0\.0\.1\nport: 21577\n/,
    );
    const variables = { PGHOST: "127.0.0.1", PGPORT: "21577", PGUSER: "reader", PGDATABASE: "orders", PGSSLMODE: "disable", PGGSSENCMODE: "disable" };
    expect(JSON.parse((await tsh("db", "env", "orders", "--format=json")).stdout)).toEqual(variables);
    const exported = Object.entries(variables).map(([key, value]) => `export ${key}=${value}\n`);
    expect(await tsh("db", "env", "orders")).toMatchObject({
      stdout: exported.join(""),
      stderr: "Clients reach this port only while this command runs: tsh proxy db orders --port=21577\n",
    });
    const table = (await tsh("db", "ls")).stdout.split("\n").map((line) => line.trimEnd().replaceAll(/ +/g, " "));
    expect(table.filter((line) => line !== "" && !/^[- ]+$/.test(line))).toEqual([
      "Database Protocol Health Healthy agents Allowed users Labels",
      "> orders (user: reader, db: orders) postgres healthy 1 of 1 postgres, reader, writer env=test",
    ]);
    const [shown] = await listed();
    expect(shown).toMatchObject({
      ...{ name: "orders", protocol: "postgres", health: "healthy", labels: { env: "test" } },
      agents: [{ hostname: "db-1", health: "healthy" }],
      login: { user: "reader", database: "orders", port: 21_577 },
    });
    expect((await tsh("db", "ls", "--format=yaml")).stdout).toMatch(/^- name: orders\n {2}protocol: postgres\n {2}health: healthy\n/);
    expect((await tsh("db", "ls", "--format=names")).stdout).toBe("orders\n");
    await using local = await databaseTunnel(world.alice, "orders", ["--port=21577"]);
    const byService = await run("psql", ["-XAt", "service=test.cluster-orders", "-c", "select current_user"], own());
    expect(byService, local.said()).toMatchObject({ status: 0, stdout: "reader\n" });
    expect(await tsh("db", "logout", "orders")).toMatchObject({ status: 0, stdout: "Logged out of database orders.\n" });
    expect(await readFile(join(world.alice.home, ".pg_service.conf"), "utf8").catch(() => "")).not.toContain("orders");
    expect(await tsh("db", "config", "orders")).toMatchObject({
      status: 5,
      stderr: expect.stringMatching(/you are not logged in to a database "orders"/),
    });
  });

  test("db exec runs on several databases, marks each line, and writes a file for each with a summary", async () => {
    await put("books");
    await isOffered(world.alice, "books");
    const exec = ["db", "exec", "select current_user", "--db-user=reader", "--db-name=orders"];
    const printed = await tsh(...exec, "--dbs=orders,books");
    expect(printed.status, printed.stderr).toBe(0);
    expect(
      printed.stdout
        .split("\n")
        .filter((line) => line.includes("reader"))
        .toSorted(),
    ).toEqual(["[books]  reader", "[orders]  reader"]);
    const folder = join(world.cluster.dir, "outputs");
    expect(await tsh(...exec, "--dbs=orders,books", `--output-dir=${folder}`)).toMatchObject({ status: 0 });
    expect((await readdir(folder)).toSorted()).toEqual(["books.out", "orders.out", "summary.json"]);
    expect(await readFile(join(folder, "orders.out"), "utf8")).toMatch(/reader/);
    expect(await readFile(join(folder, "summary.json"), "utf8")).toMatch(/"orders"/);
    const wrong = await tsh("db", "exec", "select nonsense", "--db-user=reader", "--db-name=orders", "--dbs=orders,books");
    expect(wrong.status).not.toBe(0);
    await world.cluster.admin("rm", "db/books");
  });

  test("tsh doctor names the rule that is in the way, or says that all is well; the agent's own doctor looks at its databases", async () => {
    const doctor = (...args: readonly string[]) => tsh("doctor", ...args);
    const well = await doctor("db/orders", "--db-user=reader", "--db-name=orders");
    expect(well.stdout).toMatch(/^ok +database +orders \(postgres\) is offered, and your roles allow it, as postgres, reader, writer$/m);
    expect(well.stdout).toMatch(/^ok +agents +db-1 sees it healthy$/m);
    expect(well.stdout).toMatch(/^ok +names +the agent on db-1 lets you connect as reader, database orders$/m);
    expect(well.stdout).toMatch(/^ok +client +psql is installed: tsh db connect orders$/m);
    expect(well).toMatchObject({ status: 0, stdout: expect.stringMatching(/\nEverything works\.\n$/) });
    const account = await doctor("db/orders", "--db-user=nobody", "--db-name=orders");
    expect(account).toMatchObject({
      status: 4,
      stdout: expect.stringMatching(/^FAILED +names +.*alice may not connect as nobody on orders: no role lists this database user$/m),
    });
    expect(account.stdout).toMatch(/your roles allow postgres, reader, writer there/);
    const name = await doctor("db/orders", "--db-user=reader", "--db-name=payroll");
    expect(name.stdout).toMatch(/^FAILED +names +.*payroll/m);
    const none = await doctor("db/none");
    expect(none).toMatchObject({
      status: 5,
      stdout: expect.stringMatching(/^FAILED +database +database "none" does not exist, or your roles do not allow it$/m),
    });
    expect(none.stdout).toMatch(/^- +names +not reached$/m);

    const agents = async (): Promise<{ status: number; finding: unknown }> => {
      const asked = await run(program("platform"), ["doctor", "--config", join(world.agent.dir, "platform.yaml"), "--format=json"]);
      const { findings } = JSON.parse(asked.stdout) as { findings: { check: string }[] };
      return { status: asked.status, finding: findings.find(({ check }) => check === "databases") };
    };
    expect(await agents()).toMatchObject({
      status: 0,
      finding: { outcome: "ok", says: expect.stringMatching(/^database orders answers, with a certificate that its tls settings accept/) },
    });
    const file = join(world.agent.dir, "platform.yaml");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(`127.0.0.1:${world.server.port}`, "127.0.0.1:1"));
    expect(await agents()).toMatchObject({
      status: 9,
      finding: { outcome: "failed", says: expect.stringMatching(/^1 of 1 databases cannot be used: orders: .*refused/) },
    });
    await writeFile(file, text);
  });
});
