import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";
import type { Agent, AgentOptions } from "./cluster-agent.ts";
import type { User } from "./cluster-user.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";
import { type Finished, run } from "./program.ts";
import { putRole } from "./put-role.ts";
import { until } from "./until.ts";

export interface PostgresWorldOptions {
  readonly cluster?: ClusterOptions;
  /** Of the agent `db-1`, except its name. */
  readonly agent?: Partial<AgentOptions>;
  /** Where PostgreSQL listens; default 127.0.0.1. */
  readonly address?: string;
  /** Runs before the agent starts; returns more entries of its `databases`, as `entry` makes them. */
  readonly prepare?: (cluster: Cluster) => Promise<string>;
  /** More lines of `db_service`, indented by two. */
  readonly dbService?: string;
}

/** PostgreSQL behind the agent db-1 as database `orders`; alice may be reader, writer or postgres there. */
export interface PostgresWorld extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly server: PostgresServer;
  /** Files of `tctl auth sign`, without their endings. */
  readonly signed: string;
  readonly agent: Agent;
  readonly alice: User;
}

/** An entry of `databases` in a configuration: labelled env=test. */
export function entry(name: string, protocol: string, address: string): string {
  return `    - { name: ${name}, protocol: ${protocol}, uri: "${address}", static_labels: { env: test } }\n`;
}

/** What alice may do; a role of a story repeats it with its options. */
export const mayUse = { allow: { db_labels: { env: "test" }, db_users: ["reader", "writer", "postgres"], db_names: ["orders", "postgres", "0"] } };

export async function openPostgresWorld(options: PostgresWorldOptions = {}): Promise<PostgresWorld> {
  const { address = "127.0.0.1", prepare = async () => "", dbService = "" } = options;
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster(options.cluster));
  // Servers run as users of their own.
  await chmod(cluster.dir, 0o755);
  const signed = join(cluster.dir, "pg");
  await cluster.admin("auth", "sign", "--format=db", `--host=${address},localhost`, "--ttl=2190h", `--out=${signed}`);
  const server = stack.use(await startPostgres({ signed, folder: join(cluster.dir, "postgres"), address }));
  await server.sql("create role reader login; create role writer login; grant pg_read_all_data to reader");
  await server.sql("create database orders owner writer");
  await putRole(cluster, "dba", mayUse);
  const databases = entry("orders", "postgres", `${address}:${server.port}`) + (await prepare(cluster));
  const services = `db_service:\n  enabled: yes\n${dbService}  databases:\n${databases}`;
  const token = await cluster.token("--type=db");
  const agent = await cluster.agent({ name: "db-1", token, services, noWait: true, ...options.agent });
  const alice = await cluster.user("alice", { roles: "dba" });
  await isOffered(alice, "orders");
  const kept = stack.move();
  return { cluster, server, signed, agent, alice, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Waits until `tsh db ls` lists it. */
export async function isOffered(user: User, name: string): Promise<void> {
  await until(`${name} is offered`, async () => (await user.tsh(["db", "ls", "--format=names"])).stdout.split("\n").includes(name));
}

/** Arguments of psql for a local port. */
export function psqlArguments(port: number, user = "reader", name = "orders"): readonly string[] {
  return ["-XAt", `host=127.0.0.1 port=${port} user=${user} dbname=${name} sslmode=disable`];
}

/** Runs statements, each by its own `-c`. */
export async function psql(port: number, statements: readonly string[], user?: string): Promise<Finished> {
  return await run("psql", [...psqlArguments(port, user), ...statements.flatMap((sql) => ["-c", sql])]);
}
