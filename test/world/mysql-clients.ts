import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import * as mariadb from "mariadb";
import { createConnection } from "mysql2/promise";
import { hasProgram } from "./has-program.ts";
import { NotHere } from "./not-here.ts";
import { type Finished, output, run } from "./program.ts";
import { sidPrograms } from "./sid-programs.ts";
import { javaStore, storePassword, type TlsFiles, tlsOf } from "./tls-files.ts";

/** How a client reaches MySQL or MariaDB. */
export interface MysqlLogin {
  readonly port: number;
  readonly password?: string;
  readonly user?: string;
  /** Of a port of the proxy; undefined: a local port, without TLS. */
  readonly tls?: TlsFiles;
}

const loopback = "127.0.0.1";
const connector = "/usr/share/java/mariadb-java-client.jar";

/** Arguments of both command lines. */
export function commandLine({ port, password = "", user = "reader" }: MysqlLogin): string[] {
  return ["--no-defaults", "--protocol=TCP", `-h${loopback}`, `-P${port}`, `-u${user}`, ...(password === "" ? [] : [`-p${password}`])];
}

/** MariaDB's command line of Debian. */
export async function mariadbCli(login: MysqlLogin, ...more: readonly string[]): Promise<Finished> {
  return await run("mariadb", [...commandLine(login), ...tlsArguments(login, "--skip-ssl", "--ssl-verify-server-cert"), ...more]);
}

/** MySQL's own command line, of sid. Throws NotHere. */
export async function mysqlCli(login: MysqlLogin, ...more: readonly string[]): Promise<Finished> {
  const tls = tlsArguments(login, "--ssl-mode=DISABLED", "--ssl-mode=VERIFY_IDENTITY");
  return await run((await sidPrograms()).path("mysql"), [...commandLine(login), ...tls, ...more]);
}

function tlsArguments({ tls }: MysqlLogin, without: string, verify: string): string[] {
  return tls === undefined ? [without] : [verify, `--ssl-ca=${tls.ca}`, `--ssl-cert=${tls.cert}`, `--ssl-key=${tls.key}`];
}

/** Runs ConnectorJ.java on a new table of the schema `shop`: what it printed. Throws NotHere. */
export async function connectorJ({ port, password = "", tls }: MysqlLogin, table: string): Promise<string> {
  if (!existsSync(connector) || !hasProgram("javac")) throw new NotHere("Connector/J needs libmariadb-java and a JDK");
  const source = resolve(import.meta.dirname, "database-clients/ConnectorJ.java");
  const folder = await mkdtemp(join(tmpdir(), "connector-"));
  try {
    const store = tls && `&useSsl=true&serverSslCert=${tls.ca}&keyStore=${await javaStore(tls, folder)}&keyStorePassword=${storePassword}`;
    const url = `jdbc:mariadb://${loopback}:${port}/shop?useServerPrepStmts=true${store ?? ""}`;
    return await output("java", ["-cp", connector, source, url, "reader", password, table], { limitMs: 120_000 });
  } finally {
    await rm(folder, { recursive: true });
  }
}

const whoami = "select current_user()";

/** Each client: the account that it is at the server. Throws NotHere where the client is not here. */
export const mysqlClients: Readonly<Record<string, (login: MysqlLogin) => Promise<string>>> = {
  "the mariadb command line": async (login) => succeeded(await mariadbCli(login, "-BNe", whoami)),
  "the mysql 9.7 command line": async (login) => succeeded(await mysqlCli(login, "-BNe", whoami)),
  mysql2: async ({ port, password, user = "reader", tls }) => {
    const secure = { ...(tls !== undefined && { ssl: { ...tlsOf(tls), rejectUnauthorized: true } }) };
    const connection = await createConnection({ host: loopback, port, user, ...(password !== undefined && { password }), ...secure });
    try {
      const [rows] = await connection.query(`${whoami} as who`);
      return (rows as { who: string }[])[0]?.who ?? "";
    } finally {
      connection.destroy();
    }
  },
  "npm's mariadb": async ({ port, password, user = "reader", tls }) => {
    // Its default of a second is less than a busy machine needs.
    const connection = await mariadb.createConnection({
      host: loopback,
      port,
      user,
      connectTimeout: 30_000,
      ...(tls !== undefined && { ssl: { ...tlsOf(tls), rejectUnauthorized: true } }),
      ...(password !== undefined && { password }),
    });
    try {
      return ((await connection.query(`${whoami} as who`)) as { who: string }[])[0]?.who ?? "";
    } finally {
      connection.destroy();
    }
  },
};

function succeeded({ status, stdout, stderr }: Finished): string {
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}
