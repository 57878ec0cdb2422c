import { X509Certificate } from "node:crypto";
import { resolve } from "node:path";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Call } from "../command.ts";
import { type Result, textResult } from "../output.ts";
import { newKeys, requireFree, type SecretFile, writeSecrets } from "../secrets.ts";
import { withAdmin } from "./connect.ts";

/** Formats of `tctl auth sign` for database servers. */
export const databaseFormats = ["db", "postgres", "mysql", "mongodb", "redis"] as const;
type DatabaseFormat = (typeof databaseFormats)[number];

export function isDatabaseFormat(format: string | undefined): format is DatabaseFormat {
  return databaseFormats.some((one) => one === format);
}

/** `tctl auth sign --format=db --host=NAME --out=server`: a key and a certificate for a database server, and the settings that it needs. */
export async function signDatabase(call: Call, { format, ttlSeconds }: { format: DatabaseFormat; ttlSeconds: number }): Promise<Result> {
  const { options } = call;
  const names = options.list("host");
  if (names.length === 0) {
    throw new PlatformError("invalid", `--format=${format} is for database servers and needs their names`, {
      hint: "give --host=<name>[,<name or address>]: the names by which agents reach the server",
    });
  }
  const out = options.text("out") ?? "";
  const endings = format === "mongodb" ? [".crt", ".cas"] : [".key", ".crt", ".cas"];
  const paths = endings.map((ending) => `${out}${ending}`);
  if (!options.flag("overwrite")) await requireFree(paths);
  const { tlsPublic, tlsPrivate } = newKeys();
  const request = { names: [...names], tlsPublicKey: tlsPublic, ttlSeconds, withOrganization: format === "mongodb" };
  const { tlsCertificate, dbClientCaPem } = await withAdmin(call, ({ client }) => client.signDatabaseServer(request));
  const files: readonly SecretFile[] =
    format === "mongodb"
      ? [{ path: `${out}.crt`, text: tlsCertificate + tlsPrivate }]
      : [
          { path: `${out}.key`, text: tlsPrivate },
          { path: `${out}.crt`, text: tlsCertificate },
        ];
  await writeSecrets([...files, { path: `${out}.cas`, text: dbClientCaPem.join("") }]);
  const until = new X509Certificate(tlsCertificate).validToDate.toISOString();
  const written = `The key and the certificate of ${names[0]} have been written to ${paths.join(", ")}; they are valid until ${until}.`;
  return textResult(`${written}\n\n${serverSettings(format, resolve(out))}`);
}

/** What to write into the server's own configuration. */
function serverSettings(format: DatabaseFormat, path: string): string {
  switch (format) {
    case "db":
    case "postgres":
      return `In postgresql.conf (the files belong to the server's user):
ssl = on
ssl_cert_file = '${path}.crt'
ssl_key_file = '${path}.key'
ssl_ca_file = '${path}.cas'

In pg_hba.conf, before other lines for these addresses:
hostssl all all 0.0.0.0/0 cert
hostssl all all ::/0      cert`;
    case "mysql":
      return `In my.cnf (the files belong to the server's user):
[mysqld]
require_secure_transport = ON
ssl-cert = ${path}.crt
ssl-key  = ${path}.key
ssl-ca   = ${path}.cas

For each account, without a password:
CREATE USER 'reader'@'%' REQUIRE SUBJECT '/CN=reader';`;
    case "mongodb":
      return `In mongod.conf (the files belong to the server's user):
net:
  tls: { mode: requireTLS, certificateKeyFile: ${path}.crt, CAFile: ${path}.cas }
security: { authorization: enabled }

For each account:
db.getSiblingDB("$external").runCommand({ createUser: "CN=reader", roles: [{ role: "read", db: "orders" }] })`;
    case "redis":
      return `In redis.conf (the files belong to the server's user):
port 0
tls-port 6379
tls-cert-file ${path}.crt
tls-key-file ${path}.key
tls-ca-cert-file ${path}.cas
tls-auth-clients yes

Valkey 9 and Redis 8.6 log an account in by its certificate; older servers ask for its password:
tls-auth-clients-user CN`;
  }
}
