import type { ChildProcess } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePorts } from "./free-port.ts";
import { NotHere } from "./not-here.ts";
import { output, run, start } from "./program.ts";
import { until } from "./until.ts";

/** Debian's PostgreSQL: the newest one that is installed. */
const root = "/usr/lib/postgresql";
const newest = existsSync(root) ? readdirSync(root).toSorted((a, b) => Number(b) - Number(a))[0] : undefined;
const ofDebian = `${root}/${newest ?? "0"}/bin`;
/** Why it is not here; undefined: it is. */
export const noPostgres: NotHere | undefined =
  existsSync(`${ofDebian}/postgres`) && process.getuid?.() === 0 ? undefined : new NotHere("PostgreSQL needs root and Debian's postgresql");

const becomeServer = ["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"] as const;
const asServer = (command: string, args: readonly string[]): Promise<string> => output("setpriv", [...becomeServer, command, ...args], { cwd: "/" });

export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  /** Runs SQL as the superuser, through the server's Unix socket; `database`: default postgres. */
  sql(text: string, database?: string): Promise<string>;
  /** Has to be called after its files of TLS have changed. */
  reload(): Promise<void>;
  /** SIGKILL of all its processes, as when its machine fails. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, and waits until it answers. */
  again(): Promise<void>;
}

export interface PostgresFiles {
  /** `tctl auth sign --out`. */
  readonly signed: string;
  readonly folder: string;
  /** Where it listens; default 127.0.0.1. */
  readonly address?: string;
  /** `embeddedPostgres()`, in place of Debian's programs. */
  readonly native?: string;
}

/** A server that takes clients over TLS by certificate only: of the files `signed.{key,crt,cas}`, as an admin copies them. */
export async function startPostgres({ signed, folder, native, address = "127.0.0.1" }: PostgresFiles): Promise<PostgresServer> {
  await mkdir(folder, { recursive: true });
  await output("chown", ["postgres:", folder]);
  // A copy: the server's user need not have access to the checkout.
  if (native !== undefined) await output("cp", ["-r", native, join(folder, "native")]);
  const programs = native === undefined ? ofDebian : join(folder, "native/bin");
  const data = join(folder, "data");
  await asServer(`${programs}/initdb`, ["-D", data, "-U", "postgres", "--auth=peer", "--no-sync", "-E", "UTF8"]);
  const [port = 0] = await freePorts(1);
  const copyKeys = async (): Promise<void> => {
    for (const ending of ["key", "crt", "cas"]) {
      const file = join(folder, `server.${ending}`);
      await output("install", ["-o", "postgres", "-m", "600", `${signed}.${ending}`, file]);
    }
  };
  await copyKeys();
  const server = (ending: string): string => `'${join(folder, `server.${ending}`)}'`;
  const settings = { ssl: "on", ssl_cert_file: server("crt"), ssl_key_file: server("key"), ssl_ca_file: server("cas"), fsync: "off" };
  const lines = Object.entries({ ...settings, listen_addresses: `'${address}'`, port, unix_socket_directories: `'${folder}'` });
  await appendFile(join(data, "postgresql.conf"), lines.map(([key, value]) => `${key} = ${value}\n`).join(""));
  await writeFile(join(data, "pg_hba.conf"), "local all postgres peer\nhostssl all all 0.0.0.0/0 cert\n");
  const begin = (): ChildProcess => {
    const child = start("setpriv", [...becomeServer, `${programs}/postgres`, "-D", data]);
    for (const stream of [child.stdout, child.stderr]) stream?.resume();
    return child;
  };
  let running = begin();
  const sql = async (text: string, database = "postgres"): Promise<string> =>
    await asServer("psql", ["-h", folder, "-p", String(port), "-U", "postgres", "-d", database, "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", text]);
  const hasEnded = (): boolean => running.exitCode !== null || running.signalCode !== null;
  const answers = async (): Promise<void> => {
    await until("PostgreSQL answers", async () => {
      // A process of the server that was killed may still hold its memory for a moment.
      if (hasEnded()) running = begin();
      return await sql("select 1").catch(() => undefined);
    });
  };
  await answers();
  return {
    port,
    sql,
    reload: async () => {
      await copyKeys();
      await sql("select pg_reload_conf()");
    },
    kill: async () => {
      const children = (await run("pgrep", ["-P", String(running.pid)])).stdout.trim().split("\n").filter(Boolean).map(Number);
      for (const pid of [running.pid ?? 0, ...children]) killNow(pid);
      await until("PostgreSQL is dead", hasEnded);
    },
    again: answers,
    [Symbol.asyncDispose]: async () => {
      running.kill("SIGQUIT");
      await until("PostgreSQL has ended", hasEnded);
    },
  };
}

function killNow(pid: number): void {
  try {
    if (pid > 1) process.kill(pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}
