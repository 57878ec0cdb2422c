import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DatabaseServer, noRedis, startRedis } from "../world/database-servers.ts";
import { because } from "../world/not-here.ts";
import { noPostgres } from "../world/postgres-server.ts";
import { entry, openPostgresWorld, type PostgresWorld, psql } from "../world/postgres-world.ts";
import { output, run } from "../world/program.ts";
import { rotationOf, step } from "../world/rotations.ts";
import { databaseTunnel, type RunningTunnel } from "../world/tsh-tunnel.ts";

/** Logins one after the other, each on a connection of its own. */
interface LoginLoop {
  readonly failures: readonly string[];
  readonly count: number;
  stop(): Promise<void>;
}

/** Pause between two logins, ms. */
const pauseMs = 120;

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

const missing = noPostgres ?? noRedis;

describe.skipIf(missing !== undefined)(`the authorities of databases${because(missing)}`, () => {
  let world: PostgresWorld;
  let redis: DatabaseServer;
  let toPostgres: RunningTunnel;
  let toRedis: RunningTunnel;
  let loops: readonly LoginLoop[];
  const forRedis = (): string => join(world.cluster.dir, "redis");

  beforeAll(async () => {
    world = await openPostgresWorld({
      prepare: async ({ admin, dir }) => {
        const signed = join(dir, "redis");
        await admin("auth", "sign", "--format=redis", "--host=127.0.0.1", "--ttl=2190h", `--out=${signed}`);
        redis = await startRedis({ signed, folder: join(dir, "r") }, ["user reader on >hunter2 ~* &* +@all"]);
        return entry("cache", "redis", `127.0.0.1:${redis.port}`);
      },
    });
    toPostgres = await databaseTunnel(world.alice, "orders");
    toRedis = await databaseTunnel(world.alice, "cache", ["--db-user=reader"]);
  });
  afterAll(async () => {
    await Promise.all((loops ?? []).map((loop) => loop.stop()));
    for (const one of [toPostgres, toRedis, redis, world]) await one?.[Symbol.asyncDispose]();
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

  /** What an admin does at each server in the first phase, and after the last one. */
  async function giveClientAuthorities(): Promise<void> {
    const cas = await world.cluster.admin("auth", "export", "--type=db-client");
    await writeFile(`${world.signed}.cas`, cas);
    await world.server.reload();
    await reloadRedis("cas", cas);
  }

  /** New certificates of the servers, of the authority that signs now. */
  async function signServersAgain(): Promise<void> {
    await world.cluster.admin("auth", "sign", "--format=db", "--host=127.0.0.1,localhost", `--out=${world.signed}`, "--overwrite");
    await world.server.reload();
    await world.cluster.admin("auth", "sign", "--format=redis", "--host=127.0.0.1", `--out=${forRedis()}`, "--overwrite");
    for (const ending of ["key", "crt"]) await writeFile(redisFile(ending), await readFile(`${forRedis()}.${ending}`, "utf8"));
    await configRedis("tls-cert-file", redisFile("crt"));
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
    // With a certificate of agents, such a client would be in.
    expect(await psql(toPostgres.port, ["select 1"])).toMatchObject({ status: 0 });
  });

  test("while both authorities are rotated, back and again, no login fails at servers that reload in time", { timeout: 240_000 }, async () => {
    const { cluster } = world;
    loops = [keepLoggingIn(loginToPostgres), keepLoggingIn(loginToRedis)];
    const before = [await rotationOf(cluster, "db_client"), await rotationOf(cluster, "db")].map(({ keys }) => keys[0]?.ca_pin);

    await step(cluster, "db_client", "init");
    expect(issued(await cluster.admin("auth", "export", "--type=db-client"))).toBe(2);
    await giveClientAuthorities();
    await step(cluster, "db_client", "update_clients");
    await step(cluster, "db_client", "rollback");
    await step(cluster, "db_client", "standby");
    await giveClientAuthorities();
    expect((await rotationOf(cluster, "db_client")).keys.map((key) => key.ca_pin)).toEqual([before[0]]);

    await step(cluster, "db_client", "init");
    await giveClientAuthorities();
    for (const phase of ["update_clients", "update_servers", "standby"]) await step(cluster, "db_client", phase);
    await giveClientAuthorities();
    expect(issued(await readFile(`${world.signed}.cas`, "utf8"))).toBe(1);

    await step(cluster, "db", "init");
    await step(cluster, "db", "update_clients");
    await signServersAgain();
    await step(cluster, "db", "update_servers");
    await step(cluster, "db", "standby");

    const counts = loops.map((loop) => loop.count);
    await Promise.all([loginToPostgres(), loginToRedis()]);
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
