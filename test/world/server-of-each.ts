import { readFile } from "node:fs/promises";
import { type DatabaseServer, type Mariadb, noMariadb, noRedis, startMariadb, startRedis } from "./database-servers.ts";
import type { DatabaseWorld, OfferedDatabase } from "./database-world.ts";
import { openMongoServer } from "./mongo-server.ts";
import { noPostgres, type PostgresServer, startPostgres } from "./postgres-server.ts";

/** A server of each protocol; undefined: it is not installed. Redis wants the password `hunter2`; MongoDB's is a server of ours. */
export interface ServerOfEach {
  readonly postgres: PostgresServer | undefined;
  readonly mariadb: Mariadb | undefined;
  readonly redis: DatabaseServer | undefined;
}

/**
 * Starts them for a world, with the account `reader`, and offers them as `orders`, `shop` (MariaDB, with a database `shop`), `cache` and `docs`, with
 * `more` beside them.
 */
export async function offerServerOfEach(world: DatabaseWorld, more: readonly OfferedDatabase[] = []): Promise<ServerOfEach> {
  const [forPostgres, forMysql, forRedis] = [await world.sign("db"), await world.sign("mysql"), await world.sign("redis")];
  const forMongo = await world.sign("mongodb");
  const postgres = noPostgres === undefined ? world.use(await startPostgres({ signed: forPostgres, folder: world.folder("p") })) : undefined;
  await postgres?.sql("create role reader login");
  const mariadb = noMariadb === undefined ? world.use(await startMariadb({ signed: forMysql, folder: world.folder("m") })) : undefined;
  await mariadb?.sql("create user reader require subject '/CN=reader'; create database shop; grant all on shop.* to reader");
  const account = "user reader on >hunter2 ~* &* +@all";
  const redis = noRedis === undefined ? world.use(await startRedis({ signed: forRedis, folder: world.folder("r") }, [account])) : undefined;
  const pem = await readFile(`${forMongo}.crt`);
  const tls = { key: pem, cert: pem, ca: await readFile(`${forMongo}.cas`) };
  const mongo = world.use(await openMongoServer({ tls, accounts: ["CN=reader"] }));
  await world.offer([
    ...(postgres === undefined ? [] : [{ name: "orders", protocol: "postgres", at: postgres.port } as const]),
    ...(mariadb === undefined ? [] : [{ name: "shop", protocol: "mysql", at: mariadb.port } as const]),
    ...(redis === undefined ? [] : [{ name: "cache", protocol: "redis", at: redis.port } as const]),
    { name: "docs", protocol: "mongodb", at: mongo.port },
    ...more,
  ]);
  return { postgres, mariadb, redis };
}
