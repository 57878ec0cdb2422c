import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "./free-port.ts";
import { output, start } from "./program.ts";
import { until } from "./until.ts";

export interface PlainMember {
  readonly port: number;
  /** `127.0.0.1:port` */
  readonly address: string;
  administer(...args: readonly string[]): Promise<string>;
  kill(): Promise<void>;
}

/** Members of a cluster of Debian's Redis on 127.0.0.1, without TLS and without accounts. The first three share all slots; more of them have none. */
export class PlainRedisCluster implements AsyncDisposable {
  readonly members: PlainMember[] = [];
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async start(): Promise<PlainRedisCluster> {
    const cluster = new PlainRedisCluster(await mkdtemp(join(tmpdir(), "redis-cluster-")));
    for (const place of [0, 1, 2]) {
      const member = await cluster.add();
      await member.administer("CLUSTER", "ADDSLOTSRANGE", String(place * 5_461), String(place === 2 ? 16_383 : place * 5_461 + 5_460));
    }
    await cluster.whole();
    return cluster;
  }

  /** Starts one more, and lets it meet the first. */
  async add(): Promise<PlainMember> {
    const [port = 0, bus = 0] = await freePorts(2);
    const cluster = [
      "--cluster-enabled",
      "yes",
      "--cluster-port",
      String(bus),
      "--cluster-node-timeout",
      "20000",
      "--cluster-require-full-coverage",
      "no",
    ];
    const options = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--cluster-config-file", `${port}.conf`];
    const running = start("redis-server", [...options, ...cluster], { cwd: this.#folder });
    running.stdout?.resume();
    running.stderr?.resume();
    const administer = (...args: readonly string[]): Promise<string> => output("redis-cli", ["-p", String(port), ...args]);
    const kill = async (): Promise<void> => {
      running.kill("SIGKILL");
      await until("the member has ended", () => running.exitCode !== null || running.signalCode !== null);
    };
    const member = { port, address: `127.0.0.1:${port}`, administer, kill };
    const [first] = this.members;
    this.members.push(member);
    await until(
      "the member answers",
      async () =>
        await administer("PING").then(
          () => true,
          () => false,
        ),
    );
    if (first !== undefined) await first.administer("CLUSTER", "MEET", "127.0.0.1", String(port), String(bus));
    return member;
  }

  /** Waits until all members know all others, and all slots. */
  async whole(): Promise<void> {
    const wanted = new RegExp(`cluster_state:ok[\\s\\S]*cluster_known_nodes:${this.members.length}\\b`);
    for (const member of this.members)
      await until(
        "the cluster is whole",
        async () => wanted.test(await member.administer("CLUSTER", "INFO")) && !(await member.administer("CLUSTER", "NODES")).includes("handshake"),
      );
  }

  /** The beginning of a slot's move: the source sends clients on with ASK for keys that it does not have. The result ends it. */
  async beginMove(slot: number, from: PlainMember, to: PlainMember): Promise<() => Promise<void>> {
    const [source, target] = await Promise.all([from, to].map(async (one) => (await one.administer("CLUSTER", "MYID")).trim()));
    await to.administer("CLUSTER", "SETSLOT", String(slot), "IMPORTING", String(source));
    await from.administer("CLUSTER", "SETSLOT", String(slot), "MIGRATING", String(target));
    return async () => {
      for (const one of [to, from]) await one.administer("CLUSTER", "SETSLOT", String(slot), "NODE", String(target));
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const member of this.members) await member.kill();
    await rm(this.#folder, { recursive: true });
  }
}
