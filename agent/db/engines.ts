import type { DbAddress, DbProtocol } from "../../core/resources/db.ts";
import type { Database } from "./database.ts";
import type { Engine, Probe } from "./engine.ts";

/** Engines by protocol, each loaded with its first connection. */
const engines: Readonly<Record<DbProtocol, () => Promise<Engine>>> = {
  postgres: async () => (await import("./postgres/serve-postgres.ts")).servePostgres,
  mysql: async () => (await import("./mysql/serve-mysql.ts")).serveMysql,
  mongodb: async () => (await import("./mongodb/serve-mongodb.ts")).serveMongodb,
  redis: async () => (await import("./redis/serve-redis.ts")).serveRedis,
};

export async function engineOf(protocol: DbProtocol): Promise<Engine> {
  return await engines[protocol]();
}

/** Probes of protocols in which TLS is not the first thing on a connection. */
const probes: { readonly [Protocol in DbProtocol]?: () => Promise<Probe> } = {
  postgres: async () => (await import("./postgres/open-server.ts")).probePostgres,
  mysql: async () => (await import("./mysql/probe-server.ts")).probeMysql,
};

/** The servers of a database, by DNS now where its uri says so. Throws `unavailable`. */
export async function serversOf(database: Database): Promise<readonly DbAddress[]> {
  if (database.srv === undefined) return database.addresses;
  const { resolveSeeds } = await import("./mongodb/srv-seeds.ts");
  return (await resolveSeeds(database)).addresses;
}

/** The probe of a protocol; undefined: a TLS handshake is enough. */
export async function probeOf(protocol: DbProtocol): Promise<Probe | undefined> {
  return await probes[protocol]?.();
}
