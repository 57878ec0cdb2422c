import type { ConfiguredDatabase } from "../../core/config/db-service.ts";
import { toPlatformError } from "../../core/errors/platform-error.ts";
import { createQueue } from "../../core/limits/queue.ts";
import { checkServer } from "./check-server.ts";
import { configuredDatabase } from "./db-service.ts";

/** The result of one check of a database from this host. */
export interface ExaminedDatabase {
  readonly name: string;
  /** Why sessions would fail; undefined: the server answers, with a certificate that the database's tls settings accept. */
  readonly fault?: string;
}

/** Maximum concurrent checks. */
const maxChecks = 8;

/** Checks every database of a configuration once, as the service does: its file of authorities, its server, its TLS. Never throws. */
export async function examineDatabases(
  databases: readonly ConfiguredDatabase[],
  /** PEM of the cluster's `db` authority. */
  authorities: readonly string[],
): Promise<readonly ExaminedDatabase[]> {
  const queue = createQueue({ atOnce: maxChecks, waiting: Number.POSITIVE_INFINITY });
  const { signal } = new AbortController();
  return await Promise.all(
    databases.map(async (one) => {
      try {
        await queue(async () => await checkServer(await configuredDatabase(one), { authorities, signal }));
        return { name: one.name };
      } catch (thrown) {
        return { name: one.name, fault: toPlatformError(thrown).message };
      }
    }),
  );
}
