import { readFile } from "node:fs/promises";
import { type ConfiguredDatabase, maxDatabases } from "../../core/config/db-service.ts";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { limitedRate } from "../../core/limits/limited-rate.ts";
import { type Db, dbDocument, holdsCertificates } from "../../core/resources/db.ts";
import type { LabelMatchers } from "../../core/resources/role.ts";
import { offerResources } from "../service/offered-resources.ts";
import type { Service } from "../service/service.ts";
import { AdminFaults, withAdminFault } from "./accounts/admin-faults.ts";
import { openAccounts } from "./accounts/open-accounts.ts";
import { type Database, databaseOf } from "./database.ts";
import { checkHealth } from "./offered-health.ts";
import { openCredentials } from "./server-credentials.ts";

export interface DbConfig {
  readonly databases: readonly ConfiguredDatabase[];
  /** Labels of the cluster's `db` resources that are offered too. */
  readonly matchers: readonly LabelMatchers[];
}

/** Limit of requests to cancel, which come without a certificate, from all proxies together. */
const cancelRate = { burst: 200, perSecond: 50 } as const;

/** Databases that this host can reach. Throws `invalid` for a file of authorities that cannot be read. */
export async function prepareDatabases({ databases, matchers }: DbConfig): Promise<Service> {
  const own = await Promise.all(databases.map(configuredDatabase));
  return {
    name: "db",
    open: async (deps, signal) => {
      const faults = new AdminFaults({ onChange: () => offered.announce(), log: deps.log });
      const details = (database: Database) => ({
        protocol: database.protocol,
        ...(database.options.get("mode") === "cluster" && { cluster: "yes" }),
        ...(database.adminUser && { admin_user: database.adminUser.name }),
        ...withAdminFault(health.details(database.name), faults.of(database)),
      });
      const offered = offerResources(
        { kind: "db", own, matchers, most: maxDatabases, document: dbDocument, served: offeredDatabase, details },
        deps,
        signal,
      );
      const health = checkHealth(offered, deps, signal);
      const serverCredentials = openCredentials(deps, signal);
      const admit = limitedRate(cancelRate);
      const holdAccount = openAccounts({ log: deps.log, faults }, signal);
      return {
        offered,
        serve: {
          db: async (stream, request, life) => {
            const { serveDb } = await import("./serve-db.ts");
            const onUnreached = (name: string): void => health.suspect(name);
            const isUnhealthy = (name: string): boolean => health.details(name).health === "unhealthy";
            const more = { findDatabase: offered.find, serverCredentials, holdAccount, onUnreached, isUnhealthy };
            await serveDb(stream, request, { ...deps, ...more }, life);
          },
          cancel: async (stream, request) => {
            if (request.target !== "") {
              const { serveThreadStream } = await import("./mysql/thread-stream.ts");
              return await serveThreadStream(stream, request, { admit });
            }
            const { serveCancelStream } = await import("./postgres/cancel-stream.ts");
            await serveCancelStream(stream, request, { log: deps.log, admit });
          },
        },
      };
    },
  };
}

function offeredDatabase(resource: Db): Database {
  const database = databaseOf(resource);
  if (database !== undefined) return database;
  throw new PlatformError("invalid", `its address cannot be read: ${resource.spec.uri}`);
}

/** A database of the configuration file, with its file of authorities read. Throws `invalid`. */
export async function configuredDatabase({ name, protocol, uri, static_labels: labels, tls, admin_user }: ConfiguredDatabase): Promise<Database> {
  const { ca_cert_file: file, ...settings } = tls ?? { mode: "verify-full" as const, trust_system_cert_pool: false };
  const ca = file === undefined ? {} : { ca_cert: await readAuthorities(name, file) };
  const database = databaseOf({ metadata: { name, labels }, spec: { protocol, uri, tls: { ...settings, ...ca }, admin_user } }, "static");
  if (database === undefined) throw new PlatformError("invalid", `the address of database ${name} cannot be read: ${uri}`);
  return database;
}

async function readAuthorities(name: string, file: string): Promise<string> {
  try {
    const text = await readFile(file, "utf8");
    if (text.length <= 1_000_000 && holdsCertificates(text)) return text;
  } catch (cause) {
    throw new PlatformError("invalid", `could not read tls.ca_cert_file of database ${name}: ${errorText(cause)}`, { cause });
  }
  throw new PlatformError("invalid", `tls.ca_cert_file of database ${name}: ${file} holds no certificates in PEM, or one that cannot be read`);
}
