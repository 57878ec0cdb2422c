import type { Agent } from "./cluster-agent.ts";
import { type DatabaseServer, noRedis, startRedis } from "./database-servers.ts";
import { DatabaseWorld, type OfferedDatabase } from "./database-world.ts";
import { ifPossible, NotHere } from "./not-here.ts";
import { startValkey, startValkeyCluster, type ValkeyCluster } from "./sid-servers.ts";

/**
 * Redis, Valkey and a cluster of Valkey behind one agent, as `redis`, `valkey`, `cluster` and each `member-N` of that; those that this machine cannot run are
 * not there. All have the accounts `reader` and `limited`, which may not MONITOR: at Redis with the password `hunter2`, at Valkey by certificate alone.
 */
export interface RedisWorld {
  readonly world: DatabaseWorld;
  readonly redis: DatabaseServer | NotHere;
  readonly valkey: DatabaseServer | NotHere;
  readonly cluster: ValkeyCluster | NotHere;
  readonly agent: Agent;
}

export async function openRedisWorld(): Promise<RedisWorld> {
  await using held = new AsyncDisposableStack();
  const world = held.use(await DatabaseWorld.open());
  const signed = await world.sign("redis");
  const accounts = (login: string) => [`user reader on ${login} ~* &* +@all`, `user limited on ${login} ~* &* +@all -monitor`];
  const [redis, valkey, cluster] = await Promise.all([
    noRedis ?? startRedis({ signed, folder: world.folder("redis") }, accounts(">hunter2")),
    ifPossible(() => startValkey({ signed, folder: world.folder("valkey") }, accounts("resetpass"))),
    ifPossible(() => startValkeyCluster({ signed, folder: world.folder("cluster") }, accounts("resetpass"))),
  ]);
  const offered: OfferedDatabase[] = [];
  for (const [name, server] of [["redis", redis] as const, ["valkey", valkey] as const])
    if (!(server instanceof NotHere)) offered.push({ name, protocol: "redis", at: world.use(server).port });
  if (!(cluster instanceof NotHere)) {
    for (const [index, member] of cluster.members.entries()) offered.push({ name: `member-${index}`, protocol: "redis", at: world.use(member).port });
    offered.push({ name: "cluster", protocol: "redis", at: `rediss://127.0.0.1:${cluster.members[0]?.port}?mode=cluster` });
  }
  const agent = await world.offer(offered);
  held.move();
  return { world, redis, valkey, cluster, agent };
}
