import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "../test/world/cluster.ts";
import type { User } from "../test/world/cluster-user.ts";
import { startMariadb, startRedis } from "../test/world/database-servers.ts";
import { freePorts } from "../test/world/free-port.ts";
import { startPostgres } from "../test/world/postgres-server.ts";
import { output } from "../test/world/program.ts";
import { putRole } from "../test/world/put-role.ts";
import { databaseTunnel } from "../test/world/tsh-tunnel.ts";
import { until } from "../test/world/until.ts";
import { cpuSeconds } from "./measure.ts";
import { startMaster, startSideBySide } from "./side-by-side.ts";

/** Ports of 127.0.0.1 at which the same three servers are. */
export interface DatabasePorts {
  readonly postgres: number;
  readonly mysql: number;
  readonly redis: number;
}

/** PostgreSQL, MariaDB and Redis, and three ways to each of them: through us, through ssh and a jump host, and directly. */
export interface DatabaseWorld extends AsyncDisposable {
  readonly dir: string;
  readonly cluster: Cluster;
  /** Each may hold as many sessions at one host as a user may. */
  readonly users: readonly User[];
  readonly pids: { readonly control: number; readonly agent: number };
  /** Of `tsh proxy db`, for the account `reader`. */
  readonly ours: DatabasePorts;
  /** Of `ssh -J jump -L`. */
  readonly theirs: DatabasePorts;
  readonly direct: DatabasePorts;
  /** Waits until agent and control have nothing more to do: audit events go on after the client has left. */
  settle(): Promise<void>;
}

/** The account without a certificate, by which the other ways go: PostgreSQL trusts it, the others know its password. */
export const plainAccount = "direct";
/** Redis before 8.6 knows no login by certificate. */
export const redisLogin = ["--user", "reader", "-a", "hunter2"] as const;
export const logicalDatabase = "bench";

export async function startDatabaseWorld(): Promise<DatabaseWorld> {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await startSideBySide());
  const { cluster } = world;
  await chmod(cluster.dir, 0o755);
  const direct = await startServers(cluster, stack);
  const agent = await offer(cluster, direct);
  const users = [await cluster.user("reader-1", { roles: "readers" }), await cluster.user("reader-2", { roles: "readers" })] as const;
  await until("the agent offers them", async () => (await users[0].tsh(["db", "ls", "--format=names"])).stdout.includes("pg"));
  const tunnel = async (name: string): Promise<number> => stack.use(await databaseTunnel(users[0], name, ["--db-user=reader"])).port;
  const ours = { postgres: await tunnel("pg"), mysql: await tunnel("shop"), redis: await tunnel("cache") };
  const plainRedis = await openPlainRedis(ours.redis);
  const master = stack.use(await startMaster(world.theirs, world));
  const forward = async (to: number): Promise<number> => {
    const [port = 0] = await freePorts(1);
    await output("ssh", [...master.options, "-O", "forward", "-L", `${port}:127.0.0.1:${to}`, master.target], { env: world.env });
    return port;
  };
  const theirs = { postgres: await forward(direct.postgres), mysql: await forward(direct.mysql), redis: await forward(plainRedis) };
  const pids = { control: cluster.control.pid, agent: agent.service.pid };
  const owned = stack.move();
  return {
    ...{ dir: world.dir, cluster, users, pids, ours, theirs, direct },
    settle: () => settled(Object.values(pids)),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function startServers(cluster: Cluster, stack: AsyncDisposableStack): Promise<DatabasePorts> {
  const sign = async (format: string): Promise<string> => {
    const out = join(cluster.dir, format);
    await cluster.admin("auth", "sign", `--format=${format}`, "--host=127.0.0.1,localhost", "--ttl=2190h", `--out=${out}`);
    return out;
  };
  const folder = join(cluster.dir, "p");
  const postgres = stack.use(await startPostgres({ signed: await sign("db"), folder }));
  const rules = join(folder, "data/pg_hba.conf");
  await writeFile(rules, `host all ${plainAccount} 127.0.0.1/32 trust\n${await readFile(rules, "utf8")}`);
  await postgres.sql(`create role reader login; create role ${plainAccount} superuser login`);
  await postgres.sql(`create database ${logicalDatabase} owner ${plainAccount}`);
  await postgres.reload();
  const mariadb = stack.use(await startMariadb({ signed: await sign("mysql"), folder: join(cluster.dir, "m") }));
  await mariadb.sql(`create user reader require subject '/CN=reader'; create user ${plainAccount} identified by '${plainAccount}';
    create database ${logicalDatabase}; grant all on *.* to reader; grant all on *.* to ${plainAccount}; set global require_secure_transport = off`);
  const redis = stack.use(await startRedis({ signed: await sign("redis"), folder: join(cluster.dir, "r") }, ["user reader on >hunter2 ~* &* +@all"]));
  return { postgres: postgres.port, mysql: mariadb.port, redis: redis.port };
}

async function offer(cluster: Cluster, { postgres, mysql, redis }: DatabasePorts) {
  await putRole(cluster, "readers", { allow: { db_labels: { env: "bench" }, db_users: ["reader"], db_names: ["*"] } });
  const entry = (name: string, protocol: string, port: number): string =>
    `    - { name: ${name}, protocol: ${protocol}, uri: "127.0.0.1:${port}", static_labels: { env: bench } }\n`;
  const list = entry("pg", "postgres", postgres) + entry("shop", "mysql", mysql) + entry("cache", "redis", redis);
  const token = await cluster.token("--type=db");
  return await cluster.agent({ name: "db-1", token, services: `db_service:\n  enabled: yes\n  databases:\n${list}`, noWait: true });
}

/** A port without TLS, and no client certificate at the one with it, for the other ways. */
async function openPlainRedis(tunnel: number): Promise<number> {
  const [port = 0] = await freePorts(1);
  const set = async (key: string, value: string): Promise<void> => {
    const [flag, account, , password] = redisLogin;
    const login = [flag, account, "--pass", password, "--no-auth-warning"];
    const answer = await output("redis-cli", ["-p", String(tunnel), ...login, "CONFIG", "SET", key, value]);
    if (answer !== "OK\n") throw new Error(`CONFIG SET ${key}: ${answer}`);
  };
  await set("tls-auth-clients", "no");
  await set("port", String(port));
  return port;
}

/** Time between two looks, ms, and processor time within it that counts as none, s. */
const [lookMs, noneSeconds] = [500, 0.03] as const;

/** Waits until these processes do next to nothing. */
export async function settled(pids: readonly number[]): Promise<void> {
  const spent = async (): Promise<number> => (await Promise.all(pids.map(cpuSeconds))).reduce((sum, one) => sum + one, 0);
  let before = await spent();
  await until(
    "agent and control are idle",
    async () => {
      await sleep(lookMs);
      const now = await spent();
      const isIdle = now - before <= noneSeconds;
      before = now;
      return isIdle;
    },
    120_000,
  );
}
