import type { ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { answersOn } from "./answers-on.ts";
import { freePorts } from "./free-port.ts";
import { NotHere } from "./not-here.ts";
import { output, run, start } from "./program.ts";
import { until } from "./until.ts";

/* Debian's MariaDB and Redis, each as its own Unix user, on a free port of 127.0.0.1, with the files of `tctl auth sign`. */

const isRoot = process.getuid?.() === 0;
/** Why they are not here; undefined: they are. */
export const noMariadb: NotHere | undefined =
  isRoot && existsSync("/usr/sbin/mariadbd") ? undefined : new NotHere("MariaDB needs root and Debian's mariadb-server");
export const noRedis: NotHere | undefined =
  isRoot && existsSync("/usr/bin/redis-server") ? undefined : new NotHere("Redis needs root and Debian's redis-server");

export interface DatabaseServer extends AsyncDisposable {
  readonly port: number;
}

/** One that tests may kill. */
export interface FragileServer extends DatabaseServer, Served {}

export interface ServerFiles {
  /** `tctl auth sign --out`. */
  readonly signed: string;
  readonly folder: string;
}

async function ownFolder(user: string, { signed, folder }: ServerFiles): Promise<void> {
  await mkdir(folder, { recursive: true });
  await output("chown", [`${user}:`, folder]);
  for (const ending of ["key", "crt", "cas"])
    await output("install", ["-o", user, "-m", "600", `${signed}.${ending}`, join(folder, `server.${ending}`)]);
}

const become = (user: string): readonly string[] => [`--reuid=${user}`, `--regid=${user}`, "--clear-groups", "--"];

/** A server's process. */
export interface Served extends AsyncDisposable {
  /** SIGKILL, as when its machine fails. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, and waits until it answers. */
  again(): Promise<void>;
}

/** Starts a server by `setpriv` and waits until `isUp`; its end is waited for too. */
export async function serve(argv: readonly string[], isUp: () => Promise<boolean>): Promise<Served> {
  let said = "";
  const begin = (): ChildProcess => {
    const child = start("setpriv", argv, { cwd: "/" });
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
    return child;
  };
  let running = begin();
  const hasEnded = (): boolean => running.exitCode !== null || running.signalCode !== null;
  const answers = async (): Promise<void> => {
    await until("the server answers", async () => {
      if (hasEnded()) throw new Error(`${argv.join(" ")} ended with ${running.exitCode}\n${said}`);
      return await isUp();
    });
  };
  try {
    await answers();
  } catch (thrown) {
    running.kill("SIGKILL");
    throw thrown;
  }
  return {
    kill: async () => {
      running.kill("SIGKILL");
      await until("the server is dead", hasEnded);
    },
    again: async () => {
      running = begin();
      await answers();
    },
    [Symbol.asyncDispose]: async () => {
      running.kill("SIGTERM");
      await until("the server has ended", hasEnded);
    },
  };
}

export interface Mariadb extends FragileServer {
  /** Runs SQL as root, through the server's Unix socket. */
  sql(text: string): Promise<string>;
}

export async function startMariadb(files: ServerFiles): Promise<Mariadb> {
  const { folder } = files;
  await ownFolder("mysql", files);
  const [port = 0] = await freePorts(1);
  const data = join(folder, "data");
  const socket = join(folder, "s");
  await output(
    "setpriv",
    [...become("mysql"), "mariadb-install-db", "--no-defaults", `--datadir=${data}`, "--auth-root-authentication-method=normal", "--skip-test-db"],
    { cwd: "/" },
  );
  const tls = [`--ssl-cert=${folder}/server.crt`, `--ssl-key=${folder}/server.key`, `--ssl-ca=${folder}/server.cas`, "--require-secure-transport=ON"];
  const options = [
    "--no-defaults",
    `--datadir=${data}`,
    `--socket=${socket}`,
    `--port=${port}`,
    "--bind-address=127.0.0.1",
    "--skip-log-bin",
    ...tls,
  ];
  const client = ["--no-defaults", `--socket=${socket}`, "-uroot", "-BN", "-e"];
  const server = await serve(
    [...become("mysql"), "/usr/sbin/mariadbd", ...options],
    async () => (await run("mariadb", [...client, "select 1"])).status === 0,
  );
  return { ...server, port, sql: (text) => output("mariadb", [...client, text]) };
}

/** Accounts as lines of an ACL file; `more`: further options. */
export async function startRedis(files: ServerFiles, accounts: readonly string[], more: readonly string[] = []): Promise<FragileServer> {
  const { folder } = files;
  await ownFolder("redis", files);
  const [port = 0] = await freePorts(1);
  const acl = join(folder, "users.acl");
  await writeFile(acl, ["user default off", ...accounts].map((line) => `${line}\n`).join(""), { mode: 0o644 });
  const tls = ["--tls-port", String(port), "--tls-cert-file", `${folder}/server.crt`, "--tls-key-file", `${folder}/server.key`];
  const options = ["--port", "0", ...tls, "--tls-ca-cert-file", `${folder}/server.cas`, "--tls-auth-clients", "yes", "--bind", "127.0.0.1"];
  const places = ["--dir", folder, "--aclfile", acl, "--save", ""];
  const server = await serve([...become("redis"), "/usr/bin/redis-server", ...options, ...places, ...more], () => answersOn(port));
  return { ...server, port };
}
