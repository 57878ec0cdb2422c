import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { answersOn } from "./answers-on.ts";
import { type DatabaseServer, type ServerFiles, serve } from "./database-servers.ts";
import { freePorts } from "./free-port.ts";
import { output, run } from "./program.ts";
import { sidPrograms } from "./sid-programs.ts";
import { until } from "./until.ts";

/* MySQL and Valkey of Debian sid, as root and on a free port of 127.0.0.1, with the files of `tctl auth sign`. They throw NotHere where sid's programs cannot be had. */

export interface Mysql extends DatabaseServer {
  /** Runs SQL as root, through the server's Unix socket. */
  sql(text: string): Promise<string>;
}

/** `more`: options beside those of TLS and of the places. */
export async function startMysql({ signed, folder }: ServerFiles, more: readonly string[] = []): Promise<Mysql> {
  const sid = await sidPrograms();
  const [server, client] = [sid.path("mysqld"), sid.path("mysql")];
  await mkdir(folder, { recursive: true });
  const [port = 0] = await freePorts(1);
  const socket = join(folder, "s");
  const share = join(sid.usr, "share/mysql");
  const places = ["--no-defaults", "--user=root", `--datadir=${join(folder, "data")}`, `--basedir=${sid.usr}`, `--lc-messages-dir=${share}`];
  const options = [...places, `--character-sets-dir=${share}/charsets`, "--secure-file-priv=NULL"];
  await output(server, [...options, "--initialize-insecure"], { cwd: folder });
  const tls = [`--ssl-cert=${signed}.crt`, `--ssl-key=${signed}.key`, `--ssl-ca=${signed}.cas`, "--require-secure-transport=ON"];
  const listen = [`--socket=${socket}`, `--pid-file=${folder}/pid`, `--port=${port}`, "--bind-address=127.0.0.1", "--mysqlx=OFF", "--skip-log-bin"];
  const asRoot = ["--no-defaults", `--socket=${socket}`, "-uroot", "-BN", "-e"];
  const running = await serve(
    ["--", server, ...options, ...tls, ...listen, ...more],
    async () => (await run(client, [...asRoot, "select 1"])).status === 0,
  );
  return { port, sql: (text) => output(client, [...asRoot, text]), [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

/** Accounts as lines of an ACL file; the CN of a certificate is the account. `more`: further options. */
export async function startValkey(
  { signed, folder }: ServerFiles,
  accounts: readonly string[],
  more: readonly string[] = [],
): Promise<DatabaseServer> {
  const server = (await sidPrograms()).path("valkey-server");
  await mkdir(folder, { recursive: true });
  const [port = 0] = await freePorts(1);
  const acl = join(folder, "users.acl");
  await writeFile(acl, ["user default off", ...accounts].map((line) => `${line}\n`).join(""));
  const tls = [
    "--tls-port",
    String(port),
    "--tls-cert-file",
    `${signed}.crt`,
    "--tls-key-file",
    `${signed}.key`,
    "--tls-ca-cert-file",
    `${signed}.cas`,
  ];
  const login = ["--tls-auth-clients", "yes", "--tls-auth-clients-user", "CN", "--aclfile", acl];
  const options = ["--port", "0", "--bind", "127.0.0.1", "--dir", folder, "--save", "", ...tls, ...login, ...more];
  const running = await serve(["--", server, ...options], () => answersOn(port));
  return { port, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

export interface ValkeyCluster {
  readonly members: readonly DatabaseServer[];
  /** Moves a slot with one key in it. */
  moveSlot(move: { readonly slot: number; readonly key: string; readonly from: number; readonly to: number }): Promise<void>;
}

/** Three members that share all slots, and the accounts; the first one has the lowest slots. Their own traffic is without TLS, as with a PKI of its own. */
export async function startValkeyCluster({ signed, folder }: ServerFiles, accounts: readonly string[]): Promise<ValkeyCluster> {
  const cli = (await sidPrograms()).path("valkey-cli");
  const ports = await freePorts(6);
  const members: DatabaseServer[] = [];
  const administer = (member: number, ...args: readonly string[]): Promise<string> =>
    output(cli, ["-p", String(ports[member]), "--user", "admin", "--pass", "admin", "--no-auth-warning", ...args]);
  for (const name of [0, 1, 2]) {
    const cluster = ["--cluster-enabled", "yes", "--tls-cluster", "no", "--port", String(ports[name]), "--cluster-port", String(ports[name + 3])];
    const all = ["user admin on >admin ~* &* +@all", ...accounts];
    members.push(await startValkey({ signed, folder: join(folder, String(name)) }, all, cluster));
    await administer(name, "CLUSTER", "ADDSLOTSRANGE", String(name * 5_461), String(name === 2 ? 16_383 : name * 5_461 + 5_460));
    if (name > 0) await administer(name, "CLUSTER", "MEET", "127.0.0.1", String(ports[0]), String(ports[3]));
  }
  for (const name of [0, 1, 2]) await until("the cluster is whole", async () => /cluster_state:ok/.test(await administer(name, "CLUSTER", "INFO")));
  return {
    members,
    moveSlot: async ({ slot, key, from, to }) => {
      const [source, target] = await Promise.all([from, to].map(async (member) => (await administer(member, "CLUSTER", "MYID")).trim()));
      await administer(to, "CLUSTER", "SETSLOT", String(slot), "IMPORTING", String(source));
      await administer(from, "CLUSTER", "SETSLOT", String(slot), "MIGRATING", String(target));
      await administer(from, "MIGRATE", "127.0.0.1", String(ports[to]), key, "0", "5000", "AUTH2", "admin", "admin");
      for (const member of [to, from]) await administer(member, "CLUSTER", "SETSLOT", String(slot), "NODE", String(target));
    },
  };
}
