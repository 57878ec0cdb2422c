import { existsSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";
import type { Agent } from "./cluster-agent.ts";
import type { User } from "./cluster-user.ts";
import { putRole } from "./put-role.ts";
import { until } from "./until.ts";

export interface OfferedDatabase {
  readonly name: string;
  readonly protocol: "postgres" | "mysql" | "mongodb" | "redis";
  /** A port of 127.0.0.1, or the whole address. */
  readonly at: number | string;
}

/** A cluster, and one agent that offers databases, whose servers are on this machine. */
export class DatabaseWorld implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly #held = new AsyncDisposableStack();

  private constructor(cluster: Cluster) {
    this.cluster = this.#held.use(cluster);
  }

  static async open(options: ClusterOptions = {}): Promise<DatabaseWorld> {
    const cluster = await startCluster(options);
    // Servers run as users of their own.
    await chmod(cluster.dir, 0o755);
    return new DatabaseWorld(cluster);
  }

  /** `tctl auth sign` for 127.0.0.1, once for each format; the path of its files without their endings. */
  async sign(format: "db" | "mysql" | "mongodb" | "redis"): Promise<string> {
    const out = join(this.cluster.dir, format);
    if (existsSync(`${out}.key`) || existsSync(`${out}.crt`)) return out;
    await this.cluster.admin("auth", "sign", `--format=${format}`, "--host=127.0.0.1,localhost", "--ttl=2190h", `--out=${out}`);
    return out;
  }

  folder(name: string): string {
    return join(this.cluster.dir, name);
  }

  /** Ends it with the world, before the cluster. */
  use<T extends AsyncDisposable>(server: T): T {
    return this.#held.use(server);
  }

  /** Starts the agent; its databases have the label `env: test`. */
  async offer(databases: readonly OfferedDatabase[]): Promise<Agent> {
    const entry = ({ name, protocol, at }: OfferedDatabase): string => {
      const uri = typeof at === "number" ? `127.0.0.1:${at}` : at;
      return `    - { name: ${name}, protocol: ${protocol}, uri: "${uri}", static_labels: { env: test } }\n`;
    };
    const services = `db_service:\n  enabled: yes\n  databases:\n${databases.map(entry).join("")}`;
    const token = await this.cluster.token("--type=db");
    return await this.cluster.agent({ name: "db-1", token, services, noWait: true });
  }

  /** A user of one role of his own, who has logged in and sees at least one database. */
  async user(name: string, allow: { readonly db_users: readonly string[]; readonly db_names: readonly string[] }, options = {}): Promise<User> {
    const role = `role-of-${name}`;
    await putRole(this.cluster, role, { options, allow: { db_labels: { env: "test" }, ...allow } });
    const user = await this.cluster.user(name, { roles: role });
    await until("the agent offers its databases", async () => (await user.tsh(["db", "ls", "--format=names"])).stdout !== "");
    return user;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held.disposeAsync();
  }
}
