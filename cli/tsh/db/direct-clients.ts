import { join } from "node:path";
import type { HostPort } from "../../../core/transport/host-port.ts";
import { certificatesFolder, profilePaths } from "../../profile/profile-folder.ts";
import { certificatePaths } from "../../profile/resource-certificates.ts";
import { type ClientCommand, conninfo } from "./client-command.ts";
import type { DatabaseLogin } from "./database-logins.ts";

/* How a database's own client goes to the proxy's port for its protocol, without tsh: by the certificate of `tsh db login`. */

/** Files of a login in the profile. */
export interface ClientIdentity {
  /** The authorities of the proxies' certificates. */
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
  /** Certificate and key in one file, as clients of MongoDB want them. */
  readonly both: string;
}

export function clientIdentity(home: string, proxy: HostPort, name: string): ClientIdentity {
  const paths = certificatePaths({ kind: "db", name });
  const at = (path: string): string => join(certificatesFolder(home, proxy), path);
  return { ca: join(profilePaths(home, proxy).folder, "ca.pem"), certificate: at(paths.certificate), key: at(paths.key), both: at(paths.both) };
}

/** A login, and the port of a proxy where it can be used. */
export interface DirectLogin {
  readonly login: Pick<DatabaseLogin, "protocol" | "user" | "database">;
  readonly address: HostPort;
  readonly files: ClientIdentity;
}

/** The clients of the protocol in the order of preference; none for one that is not known. Pure. */
export function directCommands({ login, address: { host, port }, files }: DirectLogin): readonly ClientCommand[] {
  const { protocol, user, database: name } = login;
  const { ca, certificate, key, both } = files;
  switch (protocol) {
    case "postgres":
      return [{ program: "psql", args: [conninfo(postgresPairs({ login, address: { host, port }, files }))], package: "postgresql-client" }];
    case "mysql": {
      const to = ["--protocol=TCP", `--host=${host}`, `--port=${port}`, `--user=${user}`, ...(name === "" ? [] : [`--database=${name}`])];
      const args = [...to, `--ssl-ca=${ca}`, `--ssl-cert=${certificate}`, `--ssl-key=${key}`];
      return [
        { program: "mariadb", args: [...args, "--ssl-verify-server-cert"], package: "mariadb-client" },
        { program: "mysql", args: [...args, "--ssl-mode=VERIFY_IDENTITY"], package: "default-mysql-client" },
      ];
    }
    case "mongodb": {
      const options = new URLSearchParams({ tls: "true", tlsCAFile: ca, tlsCertificateKeyFile: both, directConnection: "true" });
      return [
        { program: "mongosh", args: [`mongodb://${bracketed(host)}:${port}/${encodeURIComponent(name)}?${options.toString()}`], package: undefined },
      ];
    }
    case "redis": {
      const tls = ["--tls", "--cacert", ca, "--cert", certificate, "--key", key];
      return [{ program: "redis-cli", args: ["-h", host, "-p", String(port), ...tls, ...(name === "" ? [] : ["-n", name])], package: "redis-tools" }];
    }
    default:
      return [];
  }
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Parameters of libpq, also for a service file. Pure. */
export function postgresPairs({ login, address, files }: DirectLogin): Readonly<Record<string, string>> {
  const where = { host: address.host, port: String(address.port), user: login.user, dbname: login.database };
  const tls = { sslmode: "verify-full", sslrootcert: files.ca, sslcert: files.certificate, sslkey: files.key, gssencmode: "disable" };
  return { ...where, ...tls };
}

/** Variables for libpq; undefined for a protocol whose clients read none. Pure. */
export function directVariables(direct: DirectLogin): Readonly<Record<string, string>> | undefined {
  if (direct.login.protocol !== "postgres") return undefined;
  const names: Readonly<Record<string, string>> = { dbname: "PGDATABASE" };
  const pairs = Object.entries(postgresPairs(direct)).filter(([, value]) => value !== "");
  return Object.fromEntries(pairs.map(([name, value]) => [names[name] ?? `PG${name.toUpperCase()}`, value]));
}
