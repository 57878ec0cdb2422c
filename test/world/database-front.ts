import { once } from "node:events";
import { join } from "node:path";
import { expect } from "vitest";
import type { Cluster } from "./cluster.ts";
import type { ProxyProcess } from "./cluster-proxy.ts";
import type { User } from "./cluster-user.ts";
import type { DatabaseServer } from "./database-servers.ts";
import { DatabaseWorld, type OfferedDatabase } from "./database-world.ts";
import { embeddedPostgres } from "./embedded-postgres.ts";
import { freePorts } from "./free-port.ts";
import { ifPossible, NotHere } from "./not-here.ts";
import { noPostgres, type PostgresServer, startPostgres } from "./postgres-server.ts";
import { type Finished, run, start } from "./program.ts";
import { offerServerOfEach, type ServerOfEach } from "./server-of-each.ts";
import { type Mysql, startMysql, startValkey } from "./sid-servers.ts";
import type { TlsFiles } from "./tls-files.ts";
import { until } from "./until.ts";

/** Facts that `tsh db config --format=json` prints. */
export interface DirectConfig extends TlsFiles {
  /** Address and port of the proxy. */
  readonly direct: string;
  readonly direct_command: string;
}

/** A cluster whose proxy has a port for each database protocol, a server of each behind its agent, and alice, who uses stock clients. */
export interface DatabaseFront extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly servers: ServerOfEach;
  readonly newest: NewestServers;
  /** A second proxy, and its port for PostgreSQL. */
  readonly second: ProxyProcess;
  readonly secondPort: number;
  readonly alice: User;
  /** Of alice's clients. */
  env(): Record<string, string>;
  tsh(...args: readonly string[]): Promise<Finished>;
  /** Logs in to the database as `reader`, and returns what its clients need. */
  logIn(name: string, ...more: readonly string[]): Promise<DirectConfig>;
  /** The same of a login that several tests share. */
  config(name: string, ...more: readonly string[]): Promise<DirectConfig>;
  psql(conninfo: string, ...args: readonly string[]): Promise<Finished>;
  /** Starts a query that lasts at this server in this psql and presses Ctrl-C: its error output, and how long it took to end, ms. */
  interrupt(server: PostgresServer | undefined, psql: string, conninfo: string): Promise<{ readonly said: string; readonly ms: number }>;
}

/** Servers of the newest versions, with the account `reader` by its certificate alone: `orders-18`, `shop-9` (with a database `shop`) and `cache-9`. */
export interface NewestServers {
  readonly postgres: PostgresServer | NotHere;
  readonly mysql: Mysql | NotHere;
  readonly valkey: DatabaseServer | NotHere;
}

async function startNewest(world: DatabaseWorld): Promise<NewestServers> {
  const signed = { postgres: await world.sign("db"), mysql: await world.sign("mysql"), redis: await world.sign("redis") };
  const [postgres, mysql, valkey] = await Promise.all([
    noPostgres ??
      ifPossible(async () => {
        const server = world.use(await startPostgres({ signed: signed.postgres, folder: world.folder("p18"), native: await embeddedPostgres() }));
        await server.sql("create role reader login");
        return server;
      }),
    ifPossible(async () => {
      const server = world.use(await startMysql({ signed: signed.mysql, folder: world.folder("m9") }));
      await server.sql("create user reader require subject '/CN=reader'; create database shop; grant all on shop.* to reader");
      return server;
    }),
    ifPossible(async () => {
      return world.use(await startValkey({ signed: signed.redis, folder: world.folder("v9") }, ["user reader on resetpass ~* &* +@all"]));
    }),
  ]);
  return { postgres, mysql, valkey };
}

function offeredNewest({ postgres, mysql, valkey }: NewestServers): readonly OfferedDatabase[] {
  return [
    ...(postgres instanceof NotHere ? [] : [{ name: "orders-18", protocol: "postgres", at: postgres.port } as const]),
    ...(mysql instanceof NotHere ? [] : [{ name: "shop-9", protocol: "mysql", at: mysql.port } as const]),
    ...(valkey instanceof NotHere ? [] : [{ name: "cache-9", protocol: "redis", at: valkey.port } as const]),
  ];
}

/** Address from which a balancer that states its clients connects to the proxy. */
export const balancerAddress = "127.0.0.9";

export async function openDatabaseFront(): Promise<DatabaseFront> {
  const [postgres = 0, mysql = 0, mongo = 0, redis = 0, secondPort = 0] = await freePorts(5);
  const lines = Object.entries({ postgres, mysql, mongo, redis }).map(([name, port]) => `  ${name}_listen_addr: 127.0.0.1:${port}\n`);
  const more = `  mysql_server_version: 8.0.99-front\n  proxy_protocol: [${balancerAddress}]\n`;
  const world = await DatabaseWorld.open({ split: true, proxyService: `${lines.join("")}${more}` });
  try {
    return await serveClients(world, secondPort);
  } catch (thrown) {
    await world[Symbol.asyncDispose]();
    throw thrown;
  }
}

async function serveClients(world: DatabaseWorld, secondPort: number): Promise<DatabaseFront> {
  const { cluster } = world;
  const second = await cluster.addProxy({ name: "second", proxyService: `  postgres_listen_addr: 127.0.0.1:${secondPort}\n` });
  const newest = await startNewest(world);
  const servers = await offerServerOfEach(world, offeredNewest(newest));
  await servers.postgres?.sql("grant pg_read_all_data to reader");
  const alice = await world.user("alice", { db_users: ["reader", "writer"], db_names: ["*"] });
  const env = () => ({ HOME: alice.home, PGSERVICEFILE: join(alice.home, "services.conf") });
  const tsh = async (...args: readonly string[]): Promise<Finished> => await alice.tsh(args, { env: env() });
  const configs = new Map<string, Promise<DirectConfig>>();
  const logIn = async (name: string, ...more: readonly string[]): Promise<DirectConfig> => {
    expect(await tsh("db", "login", "--db-user=reader", ...more, name)).toMatchObject({ status: 0, stderr: "" });
    const config = JSON.parse((await tsh("db", "config", "--format=json", name)).stdout) as DirectConfig;
    expect(config.direct).toMatch(/^127\.0\.0\.1:\d+$/);
    return config;
  };
  return {
    cluster,
    servers,
    newest,
    second,
    secondPort,
    alice,
    env,
    tsh,
    logIn,
    config: async (name, ...more) => {
      const known = configs.get(name) ?? logIn(name, ...more);
      configs.set(name, known);
      return await known;
    },
    psql: async (conninfo, ...args) => await run("psql", ["-XAt", conninfo, ...args], { env: env() }),
    interrupt: async (server, psql, conninfo) => {
      const child = start(psql, ["-XAt", conninfo, "-c", "select pg_sleep(60)"], { env: env() });
      let said = "";
      child.stderr?.on("data", (chunk: Buffer) => (said += String(chunk)));
      const running = "select 'yes' from pg_stat_activity where usename = 'reader' and state = 'active' and query like '%pg_sleep(60)'";
      await until("the query runs", async () => (await server?.sql(running))?.includes("yes") === true);
      const began = performance.now();
      child.kill("SIGINT");
      await once(child, "close");
      return { said, ms: performance.now() - began };
    },
    [Symbol.asyncDispose]: async () => await world[Symbol.asyncDispose](),
  };
}

export function portOf({ direct }: DirectConfig): number {
  return Number(direct.split(":")[1]);
}
