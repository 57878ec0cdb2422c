import type { DbProtocol } from "../../../core/resources/db.ts";
import type { Front } from "./front.ts";

/** What serves the port of each protocol, loaded with its first connection. */
const fronts: Readonly<Record<DbProtocol, () => Promise<Front>>> = {
  postgres: async () => (await import("./postgres/serve-postgres.ts")).servePostgres,
  mysql: async () => (await import("./mysql/serve-mysql.ts")).serveMysql,
  mongodb: async () => (await import("./mongodb/serve-mongodb.ts")).serveMongodb,
  redis: async () => (await import("./redis/serve-redis.ts")).serveRedis,
};

export async function frontOf(protocol: DbProtocol): Promise<Front> {
  return await fronts[protocol]();
}
