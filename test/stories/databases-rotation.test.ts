import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { MongoClient } from "mongodb";
import { createConnection } from "mysql2/promise";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DatabaseServer, type Mariadb, noMariadb, noRedis, startMariadb, startRedis } from "../world/database-servers.ts";
import { holdPsql } from "../world/held-psql.ts";
import { type MongoServer, openMongoServer } from "../world/mongo-server.ts";
import { because } from "../world/not-here.ts";
import { noPostgres } from "../world/postgres-server.ts";
import { entry, openPostgresWorld, type PostgresWorld, psql } from "../world/postgres-world.ts";
import { output, run } from "../world/program.ts";
import { rotationOf, step } from "../world/rotations.ts";
import { databaseTunnel, type RunningTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

/** Logins one after the other, each on a connection of its own. */
interface LoginLoop {
  readonly failures: readonly string[];
  readonly count: number;
  stop(): Promise<void>;
}

/** Pause between two logins, ms. */
const pauseMs = 250;

function keepLoggingIn(login: () => Promise<void>): LoginLoop {
  const [failures, ending] = [[] as string[], new AbortController()];
  let count = 0;
  const running = (async () => {
    while (!ending.signal.aborted) {
      count += 1;
      await login().catch((thrown: unknown) => failures.push(`${new Date().toISOString()} ${String(thrown)}`));
      await sleep(pauseMs, undefined, { signal: ending.signal }).catch(() => {});
    }
  })();
  return {
    failures,
    get count() {
      return count;
    },
    stop: async () => {
      ending.abort();
      await running;
    },
  };
}

const missing = noPostgres ?? noRedis ?? noMariadb;

describe.skipIf(missing !== undefined)(`the authorities of databases${because(missing)}`, () => {
  let world: PostgresWorld;
  let redis: DatabaseServer;
  let mariadb: Mariadb;
  let mongo: MongoServer;
  let toMariadb: RunningTunnel;
  let toMongo: RunningTunnel;
  let toPostgres: RunningTunnel;
  let toRedis: RunningTunnel;
  let loops: readonly LoginLoop[];
  /** Files of `tctl auth sign`, without their endings. */
  const signedFor = (format: string): string => join(world.cluster.dir, format);

  beforeAll(async () => {
    world = await openPostgresWorld({
      prepare: async ({ admin, dir }) => {
        const signed = (format: string): string => join(dir, format);
        for (const format of ["redis", "mysql", "mongodb"])
          await admin("auth", "sign", `--format=${format}`, "--host=127.0.0.1", "--ttl=2190h", `--out=${signed(format)}`);
        redis = await startRedis({ signed: signed("redis"), folder: join(dir, "r") }, ["user reader on >hunter2 ~* &* +@all"]);
        mariadb = await startMariadb({ signed: signed("mysql"), folder: join(dir, "m") });
        await mariadb.sql("create user reader require subject '/CN=reader'");
        mongo = await openMongoServer({ tls: await mongoTls(signed("mongodb")), accounts: ["CN=reader"] });
        const ports = { cache: ["redis", redis.port], shop: ["mysql", mariadb.port], docs: ["mongodb", mongo.port] } as const;
        return Object.entries(ports)
          .map(([name, [protocol, port]]) => entry(name, protocol, `127.0.0.1:${port}`))
          .join("");
      },
    });
    toPostgres = await databaseTunnel(world.alice, "orders");
    toRedis = await databaseTunnel(world.alice, "cache", ["--db-user=reader"]);
    toMariadb = await databaseTunnel(world.alice, "shop", ["--db-user=reader"]);
    toMongo = await databaseTunnel(world.alice, "docs", ["--db-user=reader", "--db-name=orders"]);
  });
  afterAll(async () => {
    await Promise.all((loops ?? []).map((loop) => loop.stop()));
    for (const one of [toPostgres, toRedis, toMariadb, toMongo, redis, mariadb, mongo, world]) await one?.[Symbol.asyncDispose]();
  });

  async function loginToPostgres(): Promise<void> {
    const client = new Client({ host: "127.0.0.1", port: toPostgres.port, user: "reader", database: "orders" });
    client.on("error", () => {});
    await client.connect();
    const { rows } = await client.query("select current_user as name");
    await client.end();
    if (rows[0]?.name !== "reader") throw new Error(JSON.stringify(rows));
  }

  async function loginToRedis(): Promise<void> {
    const client = new Redis({
      host: "127.0.0.1",
      port: toRedis.port,
      username: "reader",
      password: "hunter2",
      lazyConnect: true,
      retryStrategy: () => null,
    });
    client.on("error", () => {});
    await client.connect();
    if ((await client.ping()) !== "PONG") throw new Error("no pong");
    client.disconnect();
  }

  async function mongoTls(signed: string) {
    const pem = await readFile(`${signed}.crt`);
    return { key: pem, cert: pem, ca: await readFile(`${signed}.cas`) };
  }

  async function loginToMariadb(): Promise<void> {
    const connection = await createConnection({ host: "127.0.0.1", port: toMariadb.port, user: "reader" });
    const [rows] = await connection.query("select current_user() as who");
    await connection.end();
    expect(rows).toEqual([{ who: "reader@%" }]);
  }

  async function loginToMongo(): Promise<void> {
    const address = `mongodb://127.0.0.1:${toMongo.port}/?directConnection=true`;
    await using client = await MongoClient.connect(address, { serverSelectionTimeoutMS: 20_000 });
    expect(await client.db("orders").command({ ping: 1 })).toMatchObject({ ok: 1 });
  }

  /** What an admin does at each server in the first phase, and after the last one. */
  async function giveClientAuthorities(): Promise<void> {
    const cas = await world.cluster.admin("auth", "export", "--type=db-client");
    await writeFile(`${world.signed}.cas`, cas);
    await world.server.reload();
    await reloadRedis("cas", cas);
    await writeFile(join(world.cluster.dir, "m/server.cas"), cas);
    await mariadb.sql("flush ssl");
    await writeFile(`${signedFor("mongodb")}.cas`, cas);
    mongo.setTls(await mongoTls(signedFor("mongodb")));
  }

  /** New certificates of the servers, of the authority that signs now. */
  async function signServersAgain(): Promise<void> {
    const sign = async (format: string, out: string): Promise<void> => {
      await world.cluster.admin("auth", "sign", `--format=${format}`, "--host=127.0.0.1,localhost", `--out=${out}`, "--overwrite");
    };
    await Promise.all([sign("db", world.signed), ...["redis", "mysql", "mongodb"].map((format) => sign(format, signedFor(format)))]);
    await world.server.reload();
    for (const ending of ["key", "crt"]) {
      await writeFile(redisFile(ending), await readFile(`${signedFor("redis")}.${ending}`, "utf8"));
      await writeFile(join(world.cluster.dir, `m/server.${ending}`), await readFile(`${signedFor("mysql")}.${ending}`));
    }
    await configRedis("tls-cert-file", redisFile("crt"));
    await mariadb.sql("flush ssl");
    mongo.setTls(await mongoTls(signedFor("mongodb")));
  }

  const redisFile = (ending: string): string => join(world.cluster.dir, "r", `server.${ending}`);

  async function reloadRedis(ending: string, text: string): Promise<void> {
    await writeFile(redisFile(ending), text);
    await configRedis("tls-ca-cert-file", redisFile(ending));
  }

  async function configRedis(name: string, value: string): Promise<void> {
    const login = ["--no-auth-warning", "--user", "reader", "--pass", "hunter2"];
    expect(await output("redis-cli", ["-p", String(toRedis.port), ...login, "CONFIG", "SET", name, value])).toBe("OK\n");
  }

  const issued = (text: string): number => text.match(/BEGIN CERTIFICATE/g)?.length ?? 0;

  test("servers get the client authority alone, and the key of a server is refused as a client", async () => {
    const cas = await readFile(`${world.signed}.cas`, "utf8");
    expect(cas.trim()).toBe((await world.cluster.admin("auth", "export", "--type=db-client")).trim());
    expect(cas).not.toContain((await world.cluster.admin("auth", "export", "--type=db")).trim());
    const stolen = join(world.cluster.dir, "stolen");
    await world.cluster.admin("auth", "sign", "--format=db", "--host=reader,127.0.0.1", `--out=${stolen}`);
    const direct = `host=127.0.0.1 port=${world.server.port} user=reader dbname=orders sslmode=require sslcert=${stolen}.crt sslkey=${stolen}.key`;
    const refused = await run("psql", ["-XAtc", "select 1", direct]);
    expect(refused).toMatchObject({ status: 2, stdout: "", stderr: expect.stringMatching(/unknown ca|certificate verify failed/) });
    const tls = ["--tls", "--cert", `${stolen}.crt`, "--key", `${stolen}.key`, "--insecure"];
    const atRedis = await run("redis-cli", ["-p", String(redis.port), ...tls, "PING"]);
    expect(atRedis.stdout).not.toContain("PONG");
    const files = [`--ssl-cert=${stolen}.crt`, `--ssl-key=${stolen}.key`, `--ssl-ca=${stolen}.cas`];
    const to = ["--no-defaults", "--protocol=TCP", "-h127.0.0.1", `-P${mariadb.port}`, "-ureader", ...files];
    const atMariadb = await run("mariadb", [...to, "-BNe", "select 1"]);
    expect(atMariadb.stdout).toBe("");
    expect(atMariadb.stderr).toMatch(/ERROR (?:2026|1045|2013)/);
    await writeFile(`${stolen}.pem`, `${await readFile(`${stolen}.crt`, "utf8")}\n${await readFile(`${stolen}.key`, "utf8")}`);
    const direct27017 = `mongodb://127.0.0.1:${mongo.port}/?directConnection=true&authMechanism=MONGODB-X509&authSource=%24external`;
    const asClient = { tls: true, tlsCertificateKeyFile: `${stolen}.pem`, tlsAllowInvalidCertificates: true, serverSelectionTimeoutMS: 5_000 };
    await expect(MongoClient.connect(direct27017, asClient)).rejects.toThrow(/auth|certificate|alert/i);
    // With a certificate of agents, such a client would be in.
    expect(await psql(toPostgres.port, ["select 1"])).toMatchObject({ status: 0 });
  });

  test("while both authorities are rotated, back and again, no login fails at servers that reload in time", { timeout: 400_000 }, async () => {
    const { cluster } = world;
    loops = [loginToPostgres, loginToRedis, loginToMariadb, loginToMongo].map(keepLoggingIn);
    await using held = await holdPsql(toPostgres.port);
    const open = await createConnection({ host: "127.0.0.1", port: toMariadb.port, user: "reader" });
    await open.query("set @mine = 7");
    const goOn = async (): Promise<void> => {
      await held.ask();
      expect((await open.query("select @mine as mine"))[0]).toEqual([{ mine: 7 }]);
    };
    /** One step, and two more logins of each kind with what it left. */
    const phase = async (authority: "db" | "db_client", name: string): Promise<void> => {
      const counts = loops.map(({ count }) => count);
      await step(cluster, authority, name);
      const goesOn = (): boolean => loops.every(({ count, failures }, at) => failures.length > 0 || count > (counts[at] ?? 0) + 1);
      await until(`logins go on after ${name} of ${authority}`, goesOn);
    };
    const before = [await rotationOf(cluster, "db_client"), await rotationOf(cluster, "db")].map(({ keys }) => keys[0]?.ca_pin);

    await phase("db_client", "init");
    expect(issued(await cluster.admin("auth", "export", "--type=db-client"))).toBe(2);
    await giveClientAuthorities();
    await phase("db_client", "update_clients");
    await phase("db_client", "rollback");
    await phase("db_client", "standby");
    await giveClientAuthorities();
    expect((await rotationOf(cluster, "db_client")).keys.map((key) => key.ca_pin)).toEqual([before[0]]);

    await phase("db_client", "init");
    await giveClientAuthorities();
    for (const name of ["update_clients", "update_servers", "standby"]) await phase("db_client", name);
    await giveClientAuthorities();
    expect(issued(await readFile(`${world.signed}.cas`, "utf8"))).toBe(1);
    await goOn();

    await phase("db", "init");
    await phase("db", "update_clients");
    await signServersAgain();
    await phase("db", "rollback");
    await signServersAgain();
    await phase("db", "standby");
    expect((await rotationOf(cluster, "db")).keys.map((key) => key.ca_pin)).toEqual([before[1]]);

    await phase("db", "init");
    await phase("db", "update_clients");
    await signServersAgain();
    await phase("db", "update_servers");
    await phase("db", "standby");

    const counts = loops.map((loop) => loop.count);
    await Promise.all([loginToPostgres(), loginToRedis(), loginToMariadb(), loginToMongo(), goOn()]);
    await open.end();
    await Promise.all(loops.map((loop) => loop.stop()));
    expect(loops.flatMap((loop) => loop.failures)).toEqual([]);
    expect(Math.min(...counts)).toBeGreaterThan(20);
    const after = [await rotationOf(cluster, "db_client"), await rotationOf(cluster, "db")].map(({ keys }) => keys.map((key) => key.ca_pin));
    for (const [index, pins] of after.entries()) expect([pins.length, pins.includes(before[index] ?? "")]).toEqual([1, false]);
  });

  test("a server that kept the old authority refuses the agent, and psql says why; a rotation says what servers need", async () => {
    const begun = await world.cluster.tctl(["auth", "rotate", "--type=db-client", "--manual", "--phase=init"]);
    expect(begun).toMatchObject({
      status: 0,
      stderr: expect.stringMatching(/db_client: before update_clients, .*tctl auth export --type=db-client/),
    });
    await step(world.cluster, "db_client", "update_clients");
    const refused = await psql(toPostgres.port, ["select 1"]);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toMatch(/FATAL: .*(?:unknown ca|database orders)/i);
    await writeFile(`${world.signed}.cas`, await world.cluster.admin("auth", "export", "--type=db-client"));
    await world.server.reload();
    expect(await psql(toPostgres.port, ["select 1"])).toMatchObject({ status: 0, stdout: "1\n" });
  });
});
