import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { hasProgram } from "./has-program.ts";
import { NotHere } from "./not-here.ts";
import { output } from "./program.ts";
import { javaKey, type TlsFiles } from "./tls-files.ts";

const driver = "/usr/share/java/postgresql.jar";
const source = resolve(import.meta.dirname, "database-clients/PostgresPool.java");

/** Why PostgreSQL's JDBC is not here; undefined: it is. */
export const noJdbc: NotHere | undefined =
  existsSync(driver) && hasProgram("javac") ? undefined : new NotHere("JDBC needs libpostgresql-jdbc-java and a JDK");

export interface JdbcPool {
  readonly port: number;
  readonly database: string;
  /** Connections. */
  readonly count: number;
  /** Of a port of the proxy; undefined: a local port, without TLS. */
  readonly tls?: TlsFiles;
}

/** Runs PostgresPool.java as `reader`: what it printed. */
export async function postgresPool({ port, database, count, tls }: JdbcPool): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "jdbc-"));
  try {
    const files = tls && `?sslmode=verify-full&sslrootcert=${tls.ca}&sslcert=${tls.cert}&sslkey=${await javaKey(tls, folder)}`;
    const url = `jdbc:postgresql://127.0.0.1:${port}/${database}${files ?? ""}`;
    return await output("java", ["-cp", driver, source, url, "reader", String(count)], { limitMs: 120_000 });
  } finally {
    await rm(folder, { recursive: true });
  }
}
