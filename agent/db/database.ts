import { type Db, type DbAddress, type DbProtocol, parseDbUri } from "../../core/resources/db.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import type { ServiceDeps } from "../service/service.ts";

/** How the server's certificate is verified. */
export interface DatabaseTls {
  readonly mode: "verify-full" | "verify-ca" | "insecure";
  /** SNI, and the name that the certificate must have; default: the host of the address. */
  readonly serverName?: string | undefined;
  /** PEM of authorities that are trusted beside the cluster's `db` authority. */
  readonly caPem: readonly string[];
  /** Whether the system's authorities are trusted too. */
  readonly trustsSystem: boolean;
}

/** A database that an agent offers. */
export interface Database {
  readonly name: string;
  readonly protocol: DbProtocol;
  /** As configured: `host:port`, or a URI of the protocol (`mongodb://h1:27017,h2/?replicaSet=rs0`, `rediss://host:6379`). */
  readonly uri: string;
  /** The servers of `uri`; several only for MongoDB, and for a cluster of Redis. */
  readonly addresses: readonly [DbAddress, ...DbAddress[]];
  /** Name whose DNS records list the servers: ask `serversOf` for them. */
  readonly srv?: string | undefined;
  /** The options of `uri`. */
  readonly options: ReadonlyMap<string, string>;
  readonly labels: Labels;
  /** Described by the agent's configuration file, or by a resource of the cluster. */
  readonly origin: "static" | "dynamic";
  readonly tls: DatabaseTls;
  /** Makes the accounts of users whose roles say so. */
  readonly adminUser?: DatabaseAdmin | undefined;
}

export interface DatabaseAdmin {
  readonly name: string;
  /** Logical database that it logs in to. */
  readonly database?: string | undefined;
}

/** A database as its `db` resource describes it, or the same from the file; undefined for an address that this version cannot read. Pure. */
export function databaseOf({ metadata, spec }: Pick<Db, "metadata" | "spec">, origin: Database["origin"] = "dynamic"): Database | undefined {
  const { protocol, uri, tls, admin_user: admin } = spec;
  const parsed = parseDbUri(protocol, uri);
  if (parsed === undefined) return undefined;
  return {
    name: metadata.name,
    protocol,
    uri,
    ...parsed,
    labels: metadata.labels ?? {},
    origin,
    ...(admin && { adminUser: { name: admin.name, database: admin.default_database } }),
    tls: {
      mode: tls?.mode ?? "verify-full",
      serverName: tls?.server_name,
      caPem: tls?.ca_cert === undefined ? [] : [tls.ca_cert],
      trustsSystem: tls?.trust_system_cert_pool ?? false,
    },
  };
}

/** Dependencies of the database service beyond those of every service. */
export interface DbDeps extends ServiceDeps {
  /** The currently offered database of this name. */
  readonly findDatabase: (name: string) => Database | undefined;
  /** A key and its certificate as this account, for a user: fresh, or of at most a minute ago. Throws PlatformError. */
  readonly serverCredentials: (ask: ServerCredentialsAsk) => Promise<ServerCredentials>;
  /** Called when a session could not connect to the database of this name: it is checked at once. */
  readonly onUnreached?: (name: string) => void;
  /** Whether this agent's checks do not reach the database of this name. */
  readonly isUnhealthy?: (name: string) => boolean;
}

export interface ServerCredentialsAsk {
  readonly database: string;
  readonly account: string;
  /** The user's, DER. */
  readonly certificate: Buffer;
  /** The user's signature over the session. */
  readonly proof: Buffer;
  readonly clientAddress: string;
  /** The account is the admin_user of the database: the credentials are for making the user's own account. */
  readonly asAdmin?: boolean;
}

/** What a server accepts from one user, and what this agent accepts from a server. */
export interface ServerCredentials {
  /** PEM; its CN is the account. */
  readonly certificate: string;
  readonly privateKey: string;
  /** PEM of the cluster's `db` authority: all keys that are trusted now. */
  readonly authorities: readonly string[];
}
