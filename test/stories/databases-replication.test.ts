import { once } from "node:events";
import { appendFile, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import { because } from "../world/not-here.ts";
import { noPostgres } from "../world/postgres-server.ts";
import { openPostgresWorld, type PostgresWorld, psql, psqlArguments } from "../world/postgres-world.ts";
import { run, start } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { databaseTunnel, type RunningTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

describe.skipIf(noPostgres !== undefined)(`replication of a PostgreSQL behind an agent${because(noPostgres)}`, () => {
  let world: PostgresWorld;
  let local: RunningTunnel;
  let folder: string;

  beforeAll(async () => {
    world = await openPostgresWorld();
    const { server, cluster, alice } = world;
    await server.sql("create role copier login replication; grant pg_read_all_data to copier");
    await server.sql("alter system set wal_level = logical");
    await appendFile(join(cluster.dir, "postgres/data/pg_hba.conf"), "hostssl replication all 0.0.0.0/0 cert\n");
    await server.kill();
    await server.again();
    folder = join(cluster.dir, "copies");
    await mkdir(folder);
    await allow({}, ["*"]);
    local = await databaseTunnel(alice, "orders", ["--db-user=copier"]);
  });
  afterAll(async () => {
    await local?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const allow = async (options: object, names: readonly string[], deny?: object): Promise<void> =>
    await putRole(world.cluster, "dba", {
      options,
      allow: { db_labels: { env: "test" }, db_users: ["copier", "reader"], db_names: names },
      ...(deny && { deny }),
    });
  const at = (name?: string): string => `host=127.0.0.1 port=${local.port} user=copier sslmode=disable${name === undefined ? "" : ` dbname=${name}`}`;
  const receive = (...args: readonly string[]) => run("pg_receivewal", ["-d", at(), "-D", folder, "--no-loop", ...args]);

  test("is refused unless a role allows it with every database, and that is in the audit log", async () => {
    const common = { user: "alice", db_user: "copier", success: false };
    const plain = await receive();
    expect(plain.status).not.toBe(0);
    expect(plain.stderr).toMatch(/FATAL: +access denied: alice may not open replication connections to orders: no role allows it/);
    await audited(world.cluster, "db.session.start", { ...common, replication: "physical" });
    const logical = await run("pg_recvlogical", ["-d", at("orders"), "--slot=s", "--create-slot"]);
    expect(logical.stderr).toMatch(/may not open replication connections/);
    await audited(world.cluster, "db.session.start", { ...common, replication: "logical", db_name: "orders" });
    await allow({ db_replication: true }, ["orders", "replication"]);
    expect((await receive()).stderr).toMatch(/they can copy all databases of the server/);
    await allow({ db_replication: true }, ["*"], { db_names: ["payroll"] });
    expect((await receive()).stderr).toMatch(/they can copy all databases of the server/);
    // The same roles let other connections of the account through.
    expect(await psql(local.port, ["select 1"], "copier")).toMatchObject({ status: 0, stdout: "1\n" });
  });

  test("pg_basebackup and pg_receivewal get what the server has, byte for byte", async () => {
    await allow({ db_replication: true }, ["*"]);
    const base = join(folder, "base");
    const backup = await run("pg_basebackup", ["-d", at(), "-D", base, "-X", "stream", "--checkpoint=fast"], { limitMs: 180_000 });
    expect(backup).toMatchObject({ status: 0 });
    const [newest = ""] = (await readdir("/usr/lib/postgresql")).toSorted((a, b) => Number(b) - Number(a));
    expect(await run(`/usr/lib/postgresql/${newest}/bin/pg_verifybackup`, [base])).toMatchObject({ status: 0 });
    const stream = join(folder, "wal");
    await mkdir(stream);
    const receiver = start("pg_receivewal", ["-d", at(), "-D", stream, "--no-loop"]);
    for (const output of [receiver.stdout, receiver.stderr]) output?.resume();
    await until(
      "it streams",
      async () => (await world.server.sql("select count(*) from pg_stat_replication where state = 'streaming'")).trim() === "1",
    );
    await world.server.sql("create table big as select i, md5(i::text) from generate_series(1, 100000) i; select pg_switch_wal()", "orders");
    const segment = await until("a segment is whole", async () => (await readdir(stream)).find((name) => /^[0-9A-F]{24}$/.test(name)));
    const own = await readFile(join(world.cluster.dir, "postgres/data/pg_wal", segment));
    expect((await readFile(join(stream, segment))).equals(own)).toBe(true);
    const closed = once(receiver, "close");
    receiver.kill("SIGINT");
    expect(await closed).toEqual([0, null]);
    await audited(world.cluster, "db.session.start", { user: "alice", db_user: "copier", success: true, replication: "physical" });
    await audited(world.cluster, "db.session.query", (event) => String(event.db_query).startsWith("START_REPLICATION"));
    await audited(world.cluster, "db.session.query", (event) => String(event.db_query).startsWith("BASE_BACKUP"));
  });

  test("a logical slot is made, followed and dropped; a lock ends it with its reason", async () => {
    await world.server.sql("create table list (id int primary key)", "orders");
    const slot = ["-d", at("orders"), "--slot=s"];
    expect(await run("pg_recvlogical", [...slot, "--create-slot", "-P", "test_decoding"])).toMatchObject({ status: 0 });
    const follower = start("pg_recvlogical", [...slot, "--start", "--no-loop", "-f", "-"]);
    let said = "";
    for (const stream of [follower.stdout, follower.stderr]) stream?.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await world.server.sql("insert into list values (7)", "orders");
    await until("the change arrives", () => said.includes("table public.list: INSERT: id[integer]:7"));
    const closed = once(follower, "close");
    await world.cluster.admin("lock", "--user=alice", "--ttl=1h");
    await closed;
    expect(said).toMatch(/locked/);
    expect((await run("psql", [...psqlArguments(local.port, "copier"), "-c", "select 1"])).status).not.toBe(0);
  });
});
