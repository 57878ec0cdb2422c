import { X509Certificate } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fromX509Certificate } from "../../../core/identity/x509-identity.ts";
import { addUser, joinFacts, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { codeAt } from "../../../test/world/one-time-code.ts";
import { memoryIo } from "../../memory-io.ts";
import { runTsh } from "../tsh.ts";

const offered = (name: string, protocol: string, env: string) => ({ kind: "db", name, labels: { env }, details: { protocol } });

describe("tsh db against an auth service", () => {
  let t: TestAuth;
  let home = "";
  let env: Record<string, string> = {};
  let logIn: () => Promise<void>;

  const tsh = async (...argv: string[]) => {
    const io = memoryIo(env);
    return { status: await runTsh(argv, io), out: io.out(), err: io.err() };
  };
  const script = async (name: string, text: string): Promise<void> => {
    await writeFile(join(home, "bin", name), `#!/bin/sh\n${text}\n`);
    await chmod(join(home, "bin", name), 0o755);
  };

  beforeAll(async () => {
    t = await openTestAuth();
    home = await mkdtemp(join(tmpdir(), "platform-tsh-db-"));
    const { mkdir } = await import("node:fs/promises");
    await mkdir(join(home, "bin"));
    env = { HOME: home, TSH_HOME: join(home, "tsh"), PATH: `${join(home, "bin")}:/usr/bin:/bin` };
    const { host, port } = await t.auth.listen({ host: "127.0.0.1", port: 0 });
    const allow = { db_labels: { env: ["test", "prod"] }, db_users: ["reader"], db_names: ["orders", "other"] };
    await t.admin.putResource({ json: JSON.stringify({ kind: "role", version: "v7", metadata: { name: "dev" }, spec: { allow } }) });
    const { secret } = await t.admin.createToken({ roles: ["node", "db"] });
    const { hostId } = await t.connect().join(joinFacts("node", secret, { hostname: "db-1", services: ["db"] }));
    const all = [offered("orders", "postgres", "test"), offered("orders-old", "postgres", "test"), offered("shop", "mysql", "test")];
    const more = [offered("cache", "redis", "prod"), offered("docs", "mongodb", "test")];
    const proxy = t.auth.localClient("proxy");
    await proxy.reportNode({ hostId, hostname: "db-1", services: ["db"], version: "1.0.0", connected: true });
    await proxy.reportOffered({ hostId, offered: [...all, ...more] });
    const alice = await addUser(t, "alice", { roles: ["dev"] });
    logIn = async () => {
      const io = memoryIo(env, `${alice.password}\n${codeAt(alice.otpauthUri, t.now())}\n`);
      expect(await runTsh(["login", `--proxy=${host}:${port}`, "--user=alice", `--ca-pin=${t.auth.caPin}`], io), io.err()).toBe(0);
      t.forward(60_000);
    };
    await logIn();
  });
  afterAll(async () => {
    await t[Symbol.asyncDispose]();
    await rm(home, { recursive: true });
  });

  beforeEach(async () => {
    await tsh("db", "logout");
    await rm(join(home, ".my.cnf"), { force: true });
    await writeFile(join(home, ".pg_service.conf"), "[mine]\nhost=db\n");
  });
  const logInTo = async (...names: readonly ("orders" | "shop" | "cache")[]): Promise<void> => {
    const options = { orders: ["--db-name=orders", "--port=21500"], shop: [], cache: [] };
    for (const name of names) expect(await tsh("db", "login", name, ...options[name])).toMatchObject({ status: 0 });
  };

  const profileFolder = async (): Promise<string> => {
    const names = await readdir(join(home, "tsh"));
    return join(home, "tsh", names.find((name) => /_\d+$/.test(name)) ?? "");
  };

  test("db login issues a certificate for the database alone and sets psql up; what is missing is named", async () => {
    expect(await tsh("db", "login", "orders")).toEqual({
      status: 2,
      out: "",
      err: "ERROR: --db-name is missing: no database name was given for orders, and there is no single one to choose\nyour roles list orders, other; for example: tsh db login --db-name=orders orders\n",
    });
    const done = await tsh("db", "login", "orders", "--db-name=orders", "--port=21500");
    expect(done).toEqual({
      status: 0,
      out: `Logged in to database orders (postgres) as reader, database orders.
Its settings for clients are in ${home}/.pg_service.conf.

Connect at once:      tsh db connect orders
Or keep this running: tsh proxy db orders --port=21500
and connect with:     psql service=test-orders
`,
      err: "",
    });
    const folder = join(await profileFolder(), "certs", "db");
    expect(await readdir(folder)).toEqual(["orders.crt", "orders.key", "orders.pem"]);
    expect((await stat(join(folder, "orders.key"))).mode & 0o777).toBe(0o600);
    const identity = fromX509Certificate(new X509Certificate(await readFile(join(folder, "orders.crt"))));
    expect(identity).toMatchObject({ name: "alice", route: { kind: "db", name: "orders", account: "reader" } });
    expect(await readFile(join(home, ".pg_service.conf"), "utf8")).toBe(
      "[mine]\nhost=db\n[test-orders]\nhost=127.0.0.1\nport=21500\nuser=reader\ndbname=orders\nsslmode=disable\ngssencmode=disable\n",
    );
  });

  test("names are cut short while they are unique; json has the same facts", async () => {
    const done = await tsh("db", "login", "sh", "--db-user=reader", "-f", "json");
    const facts = JSON.parse(done.out) as Record<string, unknown>;
    expect(facts).toMatchObject({ name: "shop", protocol: "mysql", host: "127.0.0.1", user: "reader", database: "", file: `${home}/.my.cnf` });
    expect(facts.proxy_command).toBe(`tsh proxy db shop --port=${String(facts.port)}`);
    expect(await tsh("db", "login", "orders-")).toMatchObject({ status: 2, err: expect.stringContaining("--db-name is missing") });
    expect(await tsh("db", "login", "o", "--db-name=x")).toMatchObject({
      status: 2,
      err: expect.stringContaining("give more of the name: orders, orders-old"),
    });
    expect(await tsh("db", "login", "none")).toMatchObject({
      status: 5,
      err: expect.stringContaining('database "none" does not exist, or your roles do not allow it'),
    });
  });

  test("db ls marks them, with account and logical database", async () => {
    await logInTo("orders", "shop");
    const { out } = await tsh("db", "ls");
    const cells = out.split("\n").map((line) => line.split(/ (?=postgres|mysql|redis|mongodb|Protocol)/)[0]?.trimEnd());
    const marked = ["> orders (user: reader, db: orders)", "orders-old", "> shop (user: reader)"];
    expect(cells.filter((cell) => cell !== "" && !cell?.startsWith("-"))).toEqual(["Database", "cache", "docs", ...marked]);
    const listed = JSON.parse((await tsh("db", "ls", "-f", "json")).out) as { name: string; login: unknown }[];
    expect(listed.find(({ name }) => name === "orders")?.login).toEqual({ user: "reader", database: "orders", port: 21_500 });
    expect(listed.find(({ name }) => name === "docs")?.login).toBeNull();
  });

  test("db env and db config print what clients need, and the command that has to run", async () => {
    await logInTo("orders", "shop");
    const note = "Clients reach this port only while this command runs: tsh proxy db orders --port=21500\n";
    expect(await tsh("db", "env", "orders")).toEqual({
      status: 0,
      out: "export PGHOST=127.0.0.1\nexport PGPORT=21500\nexport PGUSER=reader\nexport PGDATABASE=orders\nexport PGSSLMODE=disable\nexport PGGSSENCMODE=disable\n",
      err: note,
    });
    expect((await tsh("db", "env", "shop")).out).toBe("export MYSQL_GROUP_SUFFIX=_test-shop\n");
    expect(JSON.parse((await tsh("db", "env", "shop", "-f", "json")).out)).toEqual({ MYSQL_GROUP_SUFFIX: "_test-shop" });
    const folder = await profileFolder();
    expect(await tsh("db", "config", "orders")).toEqual({
      status: 0,
      out: `Name:     orders
Host:     127.0.0.1
Port:     21500
User:     reader
Database: orders
CA:       ${folder}/ca.pem
Cert:     ${folder}/certs/db/orders.crt
Key:      ${folder}/certs/db/orders.key
`,
      err: note,
    });
    expect((await tsh("db", "config", "orders", "--format=cmd")).out).toBe("psql service=test-orders\n");
    expect((await tsh("db", "config", "orders", "-f", "yaml")).out).toMatch(/^name: orders\nprotocol: postgres\nhost: 127\.0\.0\.1\nport: 21500\n/);
    expect(await tsh("db", "env", "docs")).toMatchObject({
      status: 5,
      err: expect.stringMatching(/not logged in to a database "docs"\nlog in with: tsh db login/),
    });
  });

  test("MongoDB and Redis have a command, but no file and no variables", async () => {
    await script("redis-cli", "exit 0");
    const done = await tsh("db", "login", "cache", "--port=21600");
    expect(done.out).toMatch(
      /^Logged in to database cache \(redis\) as reader\.\n\nConnect at once: .*\n.*\nand connect with: +redis-cli -h 127\.0\.0\.1 -p 21600\n$/,
    );
    expect(await tsh("db", "env", "cache")).toMatchObject({ status: 11, err: expect.stringContaining("tsh db connect cache") });
  });

  test("db connect takes its own options before and after the name; all others, and what follows a --, are the client's", async () => {
    await script("psql", `printf '%s|' "$@" >${home}/seen; exit 3`);
    const seen = async (...argv: string[]) => {
      const { status, err } = await tsh("db", "connect", ...argv);
      return [status, err, await readFile(join(home, "seen"), "utf8")];
    };
    const named = [3, "", expect.stringMatching(/^[^|]*user='?reader'?[^|]*dbname='?other'?[^|]*\|-c\|select 1\|$/)];
    for (const argv of [
      ["--db-user=reader", "--db-name=other", "orders", "-c", "select 1"],
      ["orders", "--db-user=reader", "-c", "select 1", "--db-name", "other"],
      ["orders", "--db-user", "reader", "--db-name=other", "--", "-c", "select 1"],
    ])
      expect([...(await seen(...argv)), argv]).toEqual([...named, argv]);
    expect((await seen("orders", "--", "--db-user=x"))[2]).toContain("--db-user=x|");
    const dangling = await tsh("db", "connect", "orders", "--db-user");
    expect(dangling).toMatchObject({ status: 2, err: expect.stringContaining("option '--db-user <name>' argument missing") });
  });

  test("db exec runs the clients: prefixed lines, files with a summary, the highest status", async () => {
    await script("psql", 'for last; do :; done; echo "pg $last"; echo oops >&2; exit 3');
    await script("mariadb", 'for last; do :; done; echo "my $last"');
    const done = await tsh("db", "exec", "select 1", "--dbs=orders,shop");
    expect(done.status).toBe(3);
    expect(done.out.split("\n").sort()).toEqual(["", "[orders] pg --command=select 1", "[shop] my --execute=select 1"]);
    expect(done.err).toBe("[orders] oops\n1 of 2 databases failed:\n  orders: exit status 3\n");
    const folder = join(home, "results");
    const saved = await tsh("db", "exec", "select 1", "--labels=env=test", "--parallel=1", `--output-dir=${folder}`, "--db-name=orders");
    expect(saved).toEqual({
      status: 3,
      out: `The output of 3 of 3 databases, and summary.json, are in ${folder}.\n`,
      err: "Skipped, because they are neither postgres nor mysql: docs\n2 of 3 databases failed:\n  orders: exit status 3\n  orders-old: exit status 3\n",
    });
    expect((await readdir(folder)).sort()).toEqual(["orders-old.out", "orders.out", "shop.out", "summary.json"]);
    expect(await readFile(join(folder, "orders.out"), "utf8")).toBe("pg --command=select 1\noops\n");
    expect((await stat(join(folder, "orders.out"))).mode & 0o777).toBe(0o600);
    const entry = (name: string, protocol: string, status: number) => ({ name, protocol, file: join(folder, `${name}.out`), status });
    expect(JSON.parse(await readFile(join(folder, "summary.json"), "utf8"))).toEqual({
      total: 3,
      succeeded: 1,
      failed: 2,
      databases: [entry("orders", "postgres", 3), entry("orders-old", "postgres", 3), entry("shop", "mysql", 0)],
    });
  });

  test.for([
    [["--dbs=orders", "--labels=env=test"], 2, /pass either --dbs or --labels/],
    [[], 2, /pass either --dbs or --labels/],
    [["--dbs=cache"], 11, /tsh db exec is for postgres and mysql, and cache is redis/],
    [["--labels=env=prod"], 5, /no postgres or mysql database that you may use has the labels env=prod/],
    [["--dbs=orders", "--parallel=0"], 2, /--parallel: "0" is not a number of databases/],
    [["--dbs=nothing"], 5, /database "nothing" does not exist/],
  ] as const)("db exec refuses %j", async ([more, status, err]) => {
    expect(await tsh("db", "exec", "select 1", ...more)).toMatchObject({ status, out: "", err: expect.stringMatching(err) });
  });

  test("another tsh login keeps the settings and drops the certificates; db logout removes both", async () => {
    await logInTo("orders", "shop", "cache");
    await logIn();
    expect((await tsh("db", "ls")).out).toContain("> orders (user: reader, db: orders)");
    expect(await tsh("db", "login", "orders")).toMatchObject({ status: 0, out: expect.stringContaining("--port=21500") });
    expect(await tsh("db", "logout", "ord")).toEqual({ status: 0, out: "Logged out of database orders.\n", err: "" });
    expect(await readFile(join(home, ".pg_service.conf"), "utf8")).toBe("[mine]\nhost=db\n");
    expect(await readdir(join(await profileFolder(), "certs", "db"))).toEqual([]);
    expect(await tsh("db", "logout", "orders")).toMatchObject({ status: 5 });
    expect(await tsh("db", "logout")).toEqual({ status: 0, out: "Logged out of all databases: cache, shop.\n", err: "" });
    expect(await readFile(join(home, ".my.cnf"), "utf8")).toBe("");
    expect((await tsh("db", "logout")).out).toBe("You were not logged in to any database.\n");
  });

  test("several logins at once are all kept; tsh logout removes the settings of databases too", async () => {
    const all = await Promise.all([tsh("db", "login", "shop"), tsh("db", "login", "docs", "--db-name=orders"), tsh("db", "login", "cache")]);
    expect(all.map(({ status, err }) => [status, err])).toEqual([
      [0, ""],
      [0, ""],
      [0, ""],
    ]);
    expect((await tsh("db", "ls")).out.match(/^> \S+/gm)).toEqual(["> cache", "> docs", "> shop"]);
    expect(await readFile(join(home, ".my.cnf"), "utf8")).toContain("[client_test-shop]");
    expect((await tsh("logout")).status).toBe(0);
    expect(await readFile(join(home, ".my.cnf"), "utf8")).toBe("");
    expect(await tsh("db", "env", "shop")).toMatchObject({ status: 3 });
    await logIn();
  });

  test("an identity file has no logins to databases", async () => {
    const done = await tsh("db", "login", "-i", "x", "orders");
    expect(done.status).toBe(2);
  });
});
