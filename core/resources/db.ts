import { X509Certificate } from "node:crypto";
import { z } from "zod";
import { documentKind } from "./document.ts";
import { metadataSchema } from "./metadata.ts";
import { resourceSpec } from "./resource-spec.ts";

/** Protocols of databases. `mysql` is MariaDB too, and `redis` Valkey. */
export const dbProtocols = ["postgres", "mysql", "mongodb", "redis"] as const;
export type DbProtocol = (typeof dbProtocols)[number];

/** Whether roles' `db_names` bind a protocol: a MySQL client changes the schema within any statement, so that only the server's own rights bind it. */
export function bindsDbNames(protocol: string): boolean {
  return protocol !== "mysql";
}

export const dbNameText = z
  .string()
  .regex(/^[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/, "must start with a letter and consist of A-Z, a-z, 0-9 and -, at most 63 characters");

/** An account or a logical database at a server: any text that fits into the CN of a certificate, without control characters. */
export const dbAccountText = z
  .string()
  .min(1)
  .max(64)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  .regex(/^[^\u0000-\u001f\u007f-\u009f*]+$/, "must not contain control characters or *");

/** Address at which an agent reaches the server; its form depends on the protocol. */
export const dbUriText = z.string().min(1).max(1024);

/** Verification of the server's certificate: chain and name, the chain alone, or nothing. */
export const dbTlsModes = ["verify-full", "verify-ca", "insecure"] as const;

const pemText = z
  .string()
  .max(65_536)
  .regex(/^\s*-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----\s*$/, { error: "must be certificates in PEM", abort: true })
  .refine(holdsCertificates, "must be certificates in PEM: one of them cannot be read");

/** Whether a text has certificates in PEM, all of which can be read. Pure. */
export function holdsCertificates(text: string): boolean {
  const found = text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  try {
    return found.length > 0 && found.every((pem) => new X509Certificate(pem).raw.length > 0);
  } catch {
    return false;
  }
}

/** TLS settings that the configuration file and the resource share. */
export const dbTlsShape = {
  mode: z.enum(dbTlsModes, "must be verify-full, verify-ca or insecure").default("verify-full"),
  /** Name that the server's certificate must have; default: the host of the address. */
  server_name: z.string().min(1).max(253).optional(),
  /** Whether the authorities that this machine trusts may have issued the server's certificate, beside the cluster's own. */
  trust_system_cert_pool: z.boolean().default(false),
};

/**
 * The account with which agents make the accounts of users. In the configuration file its name begins with `platform-`: an agent that was taken over can
 * name any, and must not be `postgres` or `root`.
 */
export const dbAdminUser = z.strictObject({
  name: dbAccountText.max(63),
  /** Logical database that it logs in to; for PostgreSQL, all agents of a server need the same one. Default: `postgres`, none for MySQL. */
  default_database: dbAccountText.max(63).optional(),
});
export const ownAdminPrefix = "platform-";

/** Protocols whose accounts agents can make. */
const managed: readonly DbProtocol[] = ["postgres", "mysql"];

/** Checks an admin_user by the protocol, as part of a schema. */
export function checkAdminUser(
  { protocol, admin_user: admin }: { readonly protocol: DbProtocol; readonly admin_user?: unknown },
  context: z.RefinementCtx,
): void {
  if (admin === undefined || managed.includes(protocol)) return;
  context.addIssue({
    code: "custom",
    path: ["admin_user"],
    message: `is for ${managed.join(" and ")} alone: agents do not make accounts of ${protocol}`,
  });
}

/** A database that agents offer whose `db_service.resources` match its labels. */
export const dbSchema = z.strictObject({
  kind: z.literal("db"),
  version: z.literal("v3"),
  metadata: metadataSchema.extend({ name: dbNameText }),
  spec: z
    .strictObject({
      protocol: z.enum(dbProtocols, `must be one of ${dbProtocols.join(", ")}`),
      uri: dbUriText,
      tls: z.strictObject({ ...dbTlsShape, ca_cert: pemText.optional() }).optional(),
      admin_user: dbAdminUser.optional(),
    })
    .superRefine(checkUri)
    .superRefine(checkAdminUser),
});
export type Db = z.infer<typeof dbSchema>;
export const dbDocument = documentKind("db", dbSchema, { what: "a db resource" });

export const dbSpec = resourceSpec<Db>()({
  schema: dbSchema,
  aliases: ["dbs", "database", "databases"],
  plain: {
    events: { created: ["db.create", "TDB03I"], updated: ["db.update", "TDB04I"], deleted: ["db.delete", "TDB05I"] },
    columns: ["Name", "Protocol", "Address", "Labels"],
    cells: ({ metadata, spec }) => [
      metadata.name,
      spec.protocol,
      spec.uri,
      Object.entries(metadata.labels ?? {})
        .map((pair) => pair.join("="))
        .join(","),
    ],
    most: 10_000,
  },
});

/** One server of a database. */
export interface DbAddress {
  readonly host: string;
  readonly port: number;
}

const defaultPorts: Readonly<Record<DbProtocol, number>> = { postgres: 5432, mysql: 3306, mongodb: 27_017, redis: 6379 };
const schemes: Readonly<Record<DbProtocol, readonly string[]>> = {
  postgres: ["postgres:", "postgresql:"],
  mysql: ["mysql:"],
  mongodb: ["mongodb:", "mongodb+srv:"],
  redis: ["rediss:"],
};
const forms: Readonly<Record<DbProtocol, string>> = {
  postgres: "host:port",
  mysql: "host:port",
  mongodb: "mongodb://host:port,host:port/?replicaSet=name, mongodb+srv://name.example.com, or host:port",
  redis: "rediss://host:port, rediss://host:port,host:port?mode=cluster, or host:port",
};

export interface ParsedDbUri {
  /** At least one; several only for MongoDB, and for a cluster of Redis. */
  readonly addresses: readonly [DbAddress, ...DbAddress[]];
  readonly options: ReadonlyMap<string, string>;
  /** Name whose DNS records list the servers; `addresses` then stands for them until they are known. */
  readonly srv?: string;
}

/** Maximum number of members that a uri names. */
const maxHosts = 50;

/** The address of a database in its parts; undefined for what is not one. Pure. */
export function parseDbUri(protocol: DbProtocol, uri: string): ParsedDbUri | undefined {
  const match = /^(?:([a-z+]+):\/\/)?([^/?#@\s]+)(?:\/)?(?:\?([^#\s]*))?$/.exec(uri);
  const [, scheme, hosts = "", query = ""] = match ?? [];
  if (match === null || (scheme !== undefined && !schemes[protocol].includes(`${scheme}:`))) return undefined;
  const options = new Map(new URLSearchParams(query));
  const names = hosts.split(",");
  const hasMembers = protocol === "mongodb" || (protocol === "redis" && options.get("mode") === "cluster");
  if (names.length > (hasMembers ? maxHosts : 1)) return undefined;
  const [first, ...others] = names.map((name) => parseAddress(name, defaultPorts[protocol]));
  if (first === undefined || others.includes(undefined)) return undefined;
  const parsed = { addresses: [first, ...others.filter((one) => one !== undefined)], options } as const;
  if (scheme !== "mongodb+srv") return parsed;
  return srvName.test(hosts) ? { ...parsed, srv: hosts } : undefined;
}

/** A host in a domain, without a port. */
const srvName = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+){2,}$/;

function parseAddress(text: string, defaultPort: number): DbAddress | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]{1,253}))(?::(\d{1,5}))?$/.exec(text);
  if (match === null) return undefined;
  const [, v6, name, port] = match;
  const number = port === undefined ? defaultPort : Number(port);
  return number > 0 && number <= 65_535 ? { host: v6 ?? name ?? "", port: number } : undefined;
}

/** Checks an address by its protocol, as part of a schema. */
export function checkUri({ protocol, uri }: { readonly protocol: DbProtocol; readonly uri: string }, context: z.RefinementCtx): void {
  if (parseDbUri(protocol, uri) !== undefined) return;
  const secret = uri.includes("@") ? "; accounts and passwords do not belong there: the agent logs in by certificate" : "";
  context.addIssue({ code: "custom", path: ["uri"], message: `must be ${forms[protocol]}${secret}` });
}
