import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { answersOn } from "./answers-on.ts";
import { freePorts } from "./free-port.ts";
import { output, run, start } from "./program.ts";
import { until } from "./until.ts";

/* Debian's MariaDB and Redis, each as its own Unix user, on a free port of 127.0.0.1, with the files of `tctl auth sign`. */

const isRoot = process.getuid?.() === 0;
export const hasMariadb: boolean = isRoot && existsSync("/usr/sbin/mariadbd");
export const hasRedis: boolean = isRoot && existsSync("/usr/bin/redis-server");

export interface DatabaseServer extends AsyncDisposable {
  readonly port: number;
}

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

/** Starts a server by `setpriv` and waits until `isUp`; its end is waited for too. */
export async function serve(argv: readonly string[], isUp: () => Promise<boolean>): Promise<AsyncDisposable> {
  const running = start("setpriv", argv, { cwd: "/" });
  let said = "";
  for (const stream of [running.stdout, running.stderr]) stream?.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
  await until("the server answers", async () => {
    if (running.exitCode !== null) throw new Error(`${argv.join(" ")} ended with ${running.exitCode}\n${said}`);
    return await isUp();
  });
  return {
    [Symbol.asyncDispose]: async () => {
      running.kill("SIGTERM");
      await until("the server has ended", () => running.exitCode !== null || running.signalCode !== null);
    },
  };
}

export interface Mariadb extends DatabaseServer {
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
  return { port, sql: (text) => output("mariadb", [...client, text]), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Accounts as lines of an ACL file. */
export async function startRedis(files: ServerFiles, accounts: readonly string[]): Promise<DatabaseServer> {
  const { folder } = files;
  await ownFolder("redis", files);
  const [port = 0] = await freePorts(1);
  const acl = join(folder, "users.acl");
  await writeFile(acl, ["user default off", ...accounts].map((line) => `${line}\n`).join(""), { mode: 0o644 });
  const tls = ["--tls-port", String(port), "--tls-cert-file", `${folder}/server.crt`, "--tls-key-file", `${folder}/server.key`];
  const options = ["--port", "0", ...tls, "--tls-ca-cert-file", `${folder}/server.cas`, "--tls-auth-clients", "yes", "--bind", "127.0.0.1"];
  const server = await serve([...become("redis"), "/usr/bin/redis-server", ...options, "--dir", folder, "--aclfile", acl, "--save", ""], () =>
    answersOn(port),
  );
  return { port, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}
