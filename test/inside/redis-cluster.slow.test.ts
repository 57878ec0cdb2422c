import { existsSync } from "node:fs";
import { Cluster } from "ioredis";
import { createCluster } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../agent/db/database.ts";
import { serveRedis } from "../../agent/db/redis/serve-redis.ts";
import { memoryIo } from "../../cli/memory-io.ts";
import { withLocalPorts } from "../../cli/tsh/db/cluster/local-ports.ts";
import { MemberPorts } from "../../cli/tsh/db/cluster/member-ports.ts";
import { type LocalPort, openLocalPort } from "../../cli/tsh/served/local-port.ts";
import { relay } from "../../core/transport/relay.ts";
import { PlainRedisCluster } from "../world/plain-redis-cluster.ts";
import { output, run } from "../world/program.ts";
import { until } from "../world/until.ts";
import { sessionAround } from "./engine-session.ts";
import { socketPair } from "./socket-pair.ts";

interface Tunnel extends AsyncDisposable {
  readonly port: number;
  /** What its sessions asked for, in order. */
  readonly members: readonly string[];
}

/** The local ports of `tsh`, and the agent's engine behind each of their connections, without a platform between them. */
async function openTunnel(seed: number): Promise<Tunnel> {
  const members: string[] = [];
  let database: Database | undefined;
  const open = async (member: string): Promise<LocalPort> =>
    await openLocalPort(memoryIo(), 0, async (socket, signal) => {
      members.push(member);
      const [near, far] = await socketPair();
      const { session } = sessionAround(far, { protocol: "redis", port: seed, asked: { user: "default" } });
      database ??= { ...session.database, options: new Map([["mode", "cluster"]]) };
      void serveRedis({ ...session, database, member });
      await relay(socket, withLocalPorts(near, ports), { signal });
    });
  const ports: MemberPorts = new MemberPorts(open);
  const local = await open("any");
  return {
    port: local.port,
    members,
    [Symbol.asyncDispose]: async () => {
      ports.close();
      await local[Symbol.asyncDispose]();
    },
  };
}

describe.skipIf(!existsSync("/usr/bin/redis-server"))("clients of a cluster of Redis 7 through local ports", () => {
  // The slots of these keys are 15495, 3300 and 7365, one of each member.
  const keys = ["a", "b", "c"] as const;
  let cluster: PlainRedisCluster;
  let tunnel: Tunnel;
  const cli = async (...args: readonly string[]): Promise<string> => (await output("redis-cli", ["-p", String(tunnel.port), ...args])).trim();
  beforeAll(async () => {
    cluster = await PlainRedisCluster.start();
    tunnel = await openTunnel(cluster.members[0]?.port ?? 0);
  });
  afterAll(async () => {
    await tunnel?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  test("redis-cli follows redirections, and no reply has the address of a member", async () => {
    for (const key of keys) expect(await cli("-c", "SET", key, `of ${key}`)).toMatch(/OK$/);
    for (const version of ["-2", "-3"]) {
      for (const map of ["SLOTS", "SHARDS", "NODES"]) {
        const shown = await cli(version, "CLUSTER", map);
        expect(shown).toMatch(/127\.0\.0\.1/);
        for (const { port } of cluster.members) expect(shown).not.toMatch(new RegExp(`\\b${port}\\b`));
      }
    }
    expect(await cli("GET", "a")).toMatch(/^MOVED 15495 127\.0\.0\.1:\d{5}$/);
  });

  test("ioredis and node-redis find every member", async () => {
    const ioredis = new Cluster([{ host: "127.0.0.1", port: tunnel.port }], { slotsRefreshTimeout: 20_000 });
    const nodeRedis = createCluster({ RESP: 3, rootNodes: [{ url: `redis://127.0.0.1:${tunnel.port}` }] });
    nodeRedis.on("error", () => {});
    await nodeRedis.connect();
    const all = keys.map((key) => `of ${key}`);
    expect(await Promise.all(keys.map((key) => ioredis.get(key)))).toEqual(all);
    expect(await Promise.all(keys.map((key) => nodeRedis.get(key)))).toEqual(all);
    expect(new Set(tunnel.members)).toEqual(new Set(["any", ...cluster.members.map(({ address }) => address)]));
    ioredis.disconnect();
    nodeRedis.destroy();
  });

  test("a member that joins is reached while its first slot moves, by ASK, and afterwards, by MOVED", async () => {
    const [, source] = cluster.members;
    const added = await cluster.add();
    await cluster.whole();
    if (source === undefined) throw new Error("no member");
    const ioredis = new Cluster([{ host: "127.0.0.1", port: tunnel.port }], { slotsRefreshTimeout: 20_000 });
    expect(await ioredis.get("c")).toBe("of c");
    const finish = await cluster.beginMove(7365, source, added);
    // The same slot: the source does not have this key.
    await ioredis.set("{c}new", "asked for");
    expect(await added.administer("CLUSTER", "COUNTKEYSINSLOT", "7365")).toBe("1\n");
    await source.administer("DEL", "c");
    await finish();
    expect(await ioredis.get("{c}new")).toBe("asked for");
    expect(tunnel.members).toContain(added.address);
    expect(await cli("-c", "GET", "{c}new")).toMatch(/asked for$/);
    ioredis.disconnect();
  });

  test("an address that is not a member's is not dialled", async () => {
    const [near, far] = await socketPair();
    const { session, dialled } = sessionAround(far, { protocol: "redis", port: cluster.members[0]?.port ?? 0, asked: { user: "default" } });
    const ended = serveRedis({ ...session, database: { ...session.database, options: new Map([["mode", "cluster"]]) }, member: "127.0.0.1:1" });
    near.write("PING\r\n");
    expect(Buffer.concat((await near.toArray()) as Buffer[]).toString("latin1")).toMatch(
      /-ERR 127\.0\.0\.1:1 is not a member of the cluster orders now\r\n$/,
    );
    expect(await ended).toMatchObject({ code: "not_found" });
    // The one connection was the question for the members.
    expect(dialled).toHaveLength(1);
  });

  test("with its first member gone a cluster is still reached, by one that is known", async () => {
    await cluster.members[0]?.kill();
    await until("another member answers", async () =>
      /of a|\(nil\)/.test((await run("redis-cli", ["-p", String(tunnel.port), "-c", "GET", "a"])).stdout),
    );
  });
});
