import type { Duplex } from "node:stream";
import type { PlatformError } from "../errors/platform-error.ts";
import { refuseMongodb } from "./mongodb/refuse-mongodb.ts";
import { refuseMysql } from "./mysql/refuse-mysql.ts";
import { refusePostgres } from "./postgres/refuse-postgres.ts";
import { refuseRedis } from "./redis/refuse-redis.ts";

/**
 * Gives a client that has not logged in the reason, in its protocol's words, and closes the connection; with the signal at once. The client's bytes so
 * far are in the stream. Ends by itself: with a silent client too, after some time. Never throws.
 */
type Refuse = (client: Duplex, error: PlatformError, signal: AbortSignal) => Promise<void>;

/** How a client of each protocol is refused, on a connection that is encrypted or needs no encryption. */
export const refusals: Readonly<Record<"postgres" | "mysql" | "mongodb" | "redis", Refuse>> = {
  postgres: refusePostgres,
  mysql: refuseMysql,
  mongodb: refuseMongodb,
  redis: refuseRedis,
};
