import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { Cluster } from "ioredis";
import { createCluster } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents, audited } from "../world/audited.ts";
import type { User } from "../world/cluster-user.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { databaseGrowth, watchMemory } from "../world/peak-memory.ts";
import { output, run, start } from "../world/program.ts";
import { ioredis, loginArgs, nodeRedis, pythonRedis, type RedisLogin, redisCli, redisClients } from "../world/redis-clients.ts";
import { openRedisWorld, type RedisWorld } from "../world/redis-world.ts";
import { rounds } from "../world/rounds.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";

const large = rounds(512, 64) * 1024 * 1024;
const pipelined = rounds(100_000, 20_000);

describe("clients of Redis and Valkey", () => {
  let opened: RedisWorld;
  let world: RedisWorld["world"];
  let alice: User;

  beforeAll(async () => {
    opened = await openRedisWorld();
    ({ world } = opened);
    alice = await world.user("alice", { db_users: ["reader", "limited"], db_names: ["0"] });
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  const servers = [
    { title: "Redis 7 with its own password", name: "redis", password: "hunter2", get: () => opened.redis },
    { title: "Valkey 9 by certificate alone", name: "valkey", password: undefined, get: () => opened.valkey },
  ];

  describe.each(servers)("$title", ({ name, password, get }) => {
    const need = (skip: (note: string) => never): void => {
      const server = get();
      if (server instanceof NotHere) skip(server.message);
    };
    const open = (user = "reader") => databaseTunnel(alice, name, [`--db-user=${user}`]);

    test.for(Object.entries(redisClients))("%s is the account", async ([, client], { skip }) => {
      need(skip);
      await using local = await open();
      const who = await ifPossible(() => client({ port: local.port, password }));
      if (who instanceof NotHere) return skip(who.message);
      expect(who).toBe("reader");
    });

    test("python3-redis: a value, a pipeline, a transaction and a message", async ({ skip }) => {
      need(skip);
      await using local = await open();
      const printed = await ifPossible(() => pythonRedis({ port: local.port, password }));
      if (printed instanceof NotHere) return skip(printed.message);
      expect(printed).toBe("seven True [1, 2] hello\n");
    });

    test("another account is refused, the own one passes, and no event holds a secret", async ({ skip }) => {
      need(skip);
      await using local = await open();
      const other = await run("redis-cli", ["-p", String(local.port), "--no-auth-warning", "--user", "limited", "--pass", "hunter2", "PING"]);
      expect(other.stderr).toMatch(/AUTH failed: NOPERM/);
      const client = ioredis({ port: local.port, password });
      const secrets: readonly (readonly string[])[] = [
        ["ACL", "SETUSER", "temporary", "on", ">hunter3", "~*"],
        ["CONFIG", "SET", "masterauth", "hunter4"],
        ["MIGRATE", "127.0.0.1", "1", "missing", "0", "10", "AUTH2", "somebody", "hunter5"],
        ["ACL", "DELUSER", "temporary"],
      ];
      for (const [command = "", ...args] of secrets) await client.call(command, ...args).catch(() => {});
      client.disconnect();
      await audited(
        world.cluster,
        "db.session.query",
        (event) => event.db_service === name && String(event.db_query).toUpperCase() === "ACL DELUSER",
      );
      const all = JSON.stringify(await auditEvents(world.cluster, "db.session.query"));
      expect(all).not.toMatch(/hunter\d/);
      expect(all).toMatch(/MIGRATE/);
    });

    test("messages arrive as pushes of RESP3, beside other commands; a client's cache hears of changes", async ({ skip }) => {
      need(skip);
      await using local = await open();
      const client = await nodeRedis({ port: local.port, password });
      const heard = Promise.withResolvers<string>();
      await client.subscribe("news", (message) => heard.resolve(message));
      expect(await client.publish("news", "hello")).toBe(1);
      expect(await heard.promise).toBe("hello");
      client.destroy();
      const hello = password === undefined ? "HELLO 3" : `HELLO 3 AUTH reader ${password}`;
      const socket = connect(local.port, "127.0.0.1");
      let said = "";
      socket.on("data", (chunk: Buffer) => (said += chunk.toString()));
      socket.write(`${hello}\r\nCLIENT TRACKING ON\r\nGET watched\r\n`);
      // The answer to GET: the key is watched from now on.
      await expect.poll(() => said).toMatch(/\+OK\r\n_\r\n$/);
      await redisCli("redis-cli", { port: local.port, password }, "SET", "watched", "1");
      await expect.poll(() => said).toMatch(/>2\r\n\$10\r\ninvalidate\r\n\*1\r\n\$7\r\nwatched\r\n/);
      socket.destroy();
    });

    test("MONITOR shows commands to an account that may, and is refused by the server to another", async ({ skip }) => {
      need(skip);
      await using local = await open();
      const monitor = start("redis-cli", [...loginArgs({ port: local.port, password }), "MONITOR"]);
      let said = "";
      monitor.stdout?.on("data", (chunk: Buffer) => (said += chunk.toString()));
      await expect.poll(() => said).toMatch(/^OK/);
      await redisCli("redis-cli", { port: local.port, password }, "SET", "monitored", "1");
      await expect.poll(() => said).toMatch(/"SET" "monitored"/);
      monitor.kill("SIGTERM");
      await once(monitor, "close");
      await using other = await open("limited");
      const refused = await run("redis-cli", [...loginArgs({ port: other.port, password }, "limited"), "MONITOR"], { limitMs: 10_000 });
      expect(refused.stdout + refused.stderr).toMatch(/NOPERM/);
    });

    test("a blocking pop waits for its value, and a transaction is one", async ({ skip }) => {
      need(skip);
      await using local = await open();
      const [waiting, other] = [ioredis({ port: local.port, password }), ioredis({ port: local.port, password })];
      const popped = waiting.blpop("queue", 30);
      await expect.poll(() => other.call("CLIENT", "LIST").then(String)).toMatch(/cmd=blpop/);
      await other.rpush("queue", "seven");
      expect(await popped).toEqual(["queue", "seven"]);
      expect(await other.multi().set("in", "1").incr("in").exec()).toEqual([
        [null, "OK"],
        [null, 2],
      ]);
      waiting.disconnect();
      other.disconnect();
    });

    test("the answers of a long pipeline come in its order", async ({ skip }) => {
      need(skip);
      await using local = await open();
      const client = ioredis({ port: local.port, password });
      await client.del("counter");
      const pipeline = client.pipeline();
      for (let count = 0; count < pipelined; count += 1) pipeline.incr("counter");
      const answers = (await pipeline.exec()) ?? [];
      expect(answers.every(([error, value], index) => error === null && value === index + 1)).toBe(true);
      expect(answers).toHaveLength(pipelined);
      client.disconnect();
    });
  });

  test("a value of half a gigabyte streams through, and the agent's memory stays", { timeout: 600_000 }, async ({ skip }) => {
    if (opened.redis instanceof NotHere) return skip(opened.redis.message);
    await using local = await databaseTunnel(alice, "redis", ["--db-user=reader"]);
    const login = { port: local.port, password: "hunter2" };
    const file = world.folder("large");
    await writeFile(file, Buffer.alloc(large, randomBytes(1024)));
    const memory = await watchMemory(opened.agent.service.pid);
    const send = 'redis-cli "$@" -x SET large <"$0"';
    expect(await output("sh", ["-c", send, file, ...loginArgs(login)], { limitMs: 500_000 })).toBe("OK\n");
    expect(await redisCli("redis-cli", login, "STRLEN", "large")).toBe(String(large));
    expect(await memory.growth()).toBeLessThan(databaseGrowth);
    await redisCli("redis-cli", login, "DEL", "large");
  });

  test("a client that has not logged in cannot send giant commands", async ({ skip }) => {
    if (opened.redis instanceof NotHere) return skip(opened.redis.message);
    await using local = await databaseTunnel(alice, "redis", ["--db-user=reader"]);
    for (const bytes of ["*1000000\r\n", "*2\r\n$4\r\nAUTH\r\n$400000000\r\n"]) {
      const socket = connect(local.port, "127.0.0.1");
      let said = "";
      socket.on("data", (chunk: Buffer) => (said += chunk.toString()));
      socket.on("error", () => {});
      const closed = once(socket, "close");
      socket.write(bytes);
      await closed;
      expect(said).toMatch(/^-ERR /);
    }
  });

  test("a cluster of Valkey: each member is a database, and a key of another one is answered by where it is", async ({ skip }) => {
    if (opened.cluster instanceof NotHere) return skip(opened.cluster.message);
    const [first, , last] = opened.cluster.members;
    await using low = await databaseTunnel(alice, "member-0", ["--db-user=reader"]);
    await using high = await databaseTunnel(alice, "member-2", ["--db-user=reader"]);
    const login = (port: number): RedisLogin => ({ port, password: undefined });
    // The slots of these keys are 3300 and 15495.
    expect(await redisCli("redis-cli", login(low.port), "SET", "b", "1")).toBe("OK");
    expect(await redisCli("redis-cli", login(high.port), "SET", "a", "1")).toBe("OK");
    const elsewhere = await run("redis-cli", [...loginArgs(login(low.port)), "-c", "GET", "a"]);
    expect(elsewhere.stdout).toMatch(/^ERR .*member/);
    expect(elsewhere.stdout).toContain(`127.0.0.1:${last?.port}`);
    const slots = await run("redis-cli", [...loginArgs(login(low.port)), "CLUSTER", "SLOTS"]);
    expect(slots.stdout).toMatch(/members of a cluster cannot be reached/);
    expect(slots.stdout).not.toContain(String(first?.port));
  });

  describe("a cluster of Valkey as one database", () => {
    // The slots of these keys are 15495, 3300 and 7365, one of each member.
    const keys = ["a", "b", "c"] as const;
    const real = (): readonly string[] => (opened.cluster instanceof NotHere ? [] : opened.cluster.members.map(({ port }) => String(port)));

    test("redis-cli -c, ioredis and node-redis reach every member by local ports, and follow a slot to another member", async ({ skip }) => {
      if (opened.cluster instanceof NotHere) return skip(opened.cluster.message);
      await using local = await databaseTunnel(alice, "cluster", ["--db-user=reader"]);
      expect(local.said()).toMatch(/redis-cli -c/);
      const login = { port: local.port, password: undefined };
      for (const key of keys) expect(await redisCli("redis-cli", login, "-c", "SET", key, `of ${key}`)).toMatch(/OK$/);
      for (const version of ["-2", "-3"]) {
        for (const map of ["SLOTS", "SHARDS", "NODES"]) {
          const shown = await redisCli("redis-cli", login, version, "CLUSTER", map);
          for (const port of real()) expect(shown).not.toMatch(new RegExp(`\\b${port}\\b`));
          expect(shown).toMatch(/127\.0\.0\.1/);
        }
      }
      const byIoredis = new Cluster([{ host: "127.0.0.1", port: local.port }], { slotsRefreshTimeout: 20_000 });
      expect(await Promise.all(keys.map((key) => byIoredis.get(key)))).toEqual(["of a", "of b", "of c"]);
      const byNodeRedis = createCluster({ RESP: 3, rootNodes: [{ url: `redis://127.0.0.1:${local.port}` }] });
      byNodeRedis.on("error", () => {});
      await byNodeRedis.connect();
      expect(await Promise.all(keys.map((key) => byNodeRedis.get(key)))).toEqual(["of a", "of b", "of c"]);
      await opened.cluster.moveSlot({ slot: 7365, key: "c", from: 1, to: 2 });
      expect(await redisCli("redis-cli", login, "-c", "GET", "c")).toMatch(/of c$/);
      expect([await byIoredis.get("c"), await byNodeRedis.get("c")]).toEqual(["of c", "of c"]);
      byIoredis.disconnect();
      byNodeRedis.destroy();
      const starts = await auditEvents(world.cluster, "db.session.start");
      const named = new Set(starts.filter((event) => event.db_service === "cluster").map((event) => event.db_member));
      expect(named).toEqual(new Set([undefined, ...real().map((port) => `127.0.0.1:${port}`)]));
    });

    test("tsh db connect runs redis-cli in cluster mode", async ({ skip }) => {
      if (opened.cluster instanceof NotHere) return skip(opened.cluster.message);
      const found = await alice.tsh(["db", "connect", "--db-user=reader", "cluster", "SET", "a", "connected"]);
      expect(found.stdout).toMatch(/OK/);
    });
  });
});
