import { homedir } from "node:os";
import { join } from "node:path";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { doAll } from "../../do-all.ts";
import { editPrivateFile } from "../../edit-private-file.ts";
import type { CliIo } from "../../io.ts";
import { loopback } from "../served/local-port.ts";
import type { DatabaseLogin } from "./database-logins.ts";
import { directHostPort } from "./direct-address.ts";
import { type ClientIdentity, type DirectLogin, postgresPairs } from "./direct-clients.ts";
import { putSections, removeSections, type Section } from "./ini-sections.ts";

/*
 * Settings for the databases' own clients:
 *   ~/.pg_service.conf  [<cluster>-<db>]                    libpq: psql service=<cluster>-<db>
 *   ~/.my.cnf           [client_<cluster>-<db>] and others  mysql, mariadb: --defaults-group-suffix=_<cluster>-<db>
 * They name the local port of `tsh proxy db`, which needs neither a password nor TLS. The same with `.direct` at the end, which no name of a database
 * has, are for the proxy's own port, with the certificate of the login.
 */

type Env = CliIo["env"];

/** Name of a database in these files. */
export function serviceName(cluster: string, name: string): string {
  return `${cluster}-${name}`;
}

/** The file of a protocol's clients; undefined where they have none. Pure. */
export function clientFile(protocol: string, env: Env): string | undefined {
  const home = env.HOME || homedir();
  if (protocol === "postgres") return env.PGSERVICEFILE || join(home, ".pg_service.conf");
  return protocol === "mysql" ? join(home, ".my.cnf") : undefined;
}

/** Name of a database in these files for the proxy's own port. */
export function directService(cluster: string, name: string): string {
  return `${serviceName(cluster, name)}.direct`;
}

/**
 * Writes the settings of a login, and removes those for a port that the proxy does not have; returns the file, undefined for a protocol without one. Throws
 * as `editPrivateFile`, and `invalid`.
 */
export async function writeClientSettings(
  env: Env,
  { cluster, files }: { readonly cluster: string; readonly files: ClientIdentity },
  login: DatabaseLogin,
): Promise<string | undefined> {
  const { protocol, name } = login;
  const file = clientFile(protocol, env);
  if (file === undefined) return undefined;
  const address = directHostPort(login.direct);
  const direct = address === undefined ? [] : directSections(directService(cluster, name), { login, address, files });
  const sections = [...clientSections(serviceName(cluster, name), login), ...direct];
  const gone = sectionNames(protocol, directService(cluster, name));
  await editPrivateFile(file, (text) => putSections(removeSections(text, gone), sections));
  return file;
}

/** Removes the settings of these databases from the files of all protocols. Throws as `editPrivateFile`, at the end. */
export async function removeClientSettings(env: Env, cluster: string, names: readonly string[]): Promise<void> {
  const removeOf = async (protocol: string): Promise<void> => {
    const services = names.flatMap((name) => [serviceName(cluster, name), directService(cluster, name)]);
    const sections = services.flatMap((service) => sectionNames(protocol, service));
    const file = clientFile(protocol, env);
    if (file !== undefined) await editPrivateFile(file, (text) => removeSections(text, sections));
  };
  await doAll(["postgres", "mysql"].map((protocol) => () => removeOf(protocol)));
}

function sectionNames(protocol: string, service: string): readonly string[] {
  return protocol === "postgres" ? [service] : ["client", "client-mariadb", "mysql"].map((group) => `${group}_${service}`);
}

/** Throws `invalid` for a name that the file could not hold. Pure. */
function clientSections(service: string, { protocol, user, database, port }: DatabaseLogin): readonly Section[] {
  if (protocol === "postgres") {
    const name = database === "" ? [] : [`dbname=${database}`];
    const lines = [`host=${loopback}`, `port=${port}`, `user=${user}`, ...name, "sslmode=disable", "gssencmode=disable"];
    return [{ name: service, lines }];
  }
  const [client = "", mariadb = "", mysql = ""] = sectionNames(protocol, service);
  return [
    { name: client, lines: [`host=${loopback}`, `port=${port}`, "protocol=tcp", `user=${myValue(user)}`] },
    // MariaDB's clients of 11.4 and later insist on TLS. The option is unknown to those of MySQL, which do not read this group.
    { name: mariadb, lines: ["skip-ssl"] },
    // Only these two know the option: mysqldump and others take the database as an argument.
    { name: mysql, lines: database === "" ? [] : [`database=${myValue(database)}`] },
  ];
}

/** The same for the proxy's own port, which demands the certificate. Throws `invalid` for a name that the file could not hold. Pure. */
function directSections(service: string, direct: DirectLogin): readonly Section[] {
  const { login, address, files } = direct;
  if (login.protocol === "postgres") {
    const pairs = Object.entries(postgresPairs(direct)).filter(([, value]) => value !== "");
    return [{ name: service, lines: pairs.map(([key, value]) => `${key}=${value}`) }];
  }
  const [client = "", mariadb = "", mysql = ""] = sectionNames(login.protocol, service);
  const tls = Object.entries({ "ssl-ca": files.ca, "ssl-cert": files.certificate, "ssl-key": files.key });
  const to = [`host=${address.host}`, `port=${address.port}`, "protocol=tcp", `user=${myValue(login.user)}`];
  return [
    { name: client, lines: [...to, ...tls.map(([key, path]) => `${key}=${myValue(path)}`)] },
    { name: mariadb, lines: ["ssl-verify-server-cert"] },
    { name: mysql, lines: login.database === "" ? [] : [`database=${myValue(login.database)}`] },
  ];
}

/** A value of an option file: `#` begins a comment outside of quotes, and a backslash an escape. */
function myValue(text: string): string {
  if (/^[A-Za-z0-9_.@$/-]+$/.test(text)) return text;
  if (!/["']/.test(text)) return `"${text.replaceAll("\\", "\\\\")}"`;
  throw new PlatformError("invalid", `an option file cannot hold the name ${JSON.stringify(text)}`, {
    hint: "use tsh db connect with --db-user and --db-name",
  });
}
