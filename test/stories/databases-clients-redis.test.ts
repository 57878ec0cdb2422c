import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { resolve } from "node:path";
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents, audited } from "../world/audited.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { type DatabaseServer, hasRedis, startRedis } from "../world/database-servers.ts";
import { DatabaseWorld } from "../world/database-world.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { streamGrowth, watchMemory } from "../world/peak-memory.ts";
import { output, run, start } from "../world/program.ts";
import { rounds } from "../world/rounds.ts";
import { sidPrograms } from "../world/sid-programs.ts";
import { startValkey, startValkeyCluster, type ValkeyCluster } from "../world/sid-servers.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";

const script = resolve(import.meta.dirname, "../world/database-clients/redis_client.py");
/** Debian packages its modules for this one. */
const python = "/usr/bin/python3";
const hasPython = existsSync(python) && existsSync("/usr/lib/python3/dist-packages/redis");
const large = rounds(500, 64) * 1024 * 1024;
const pipelined = rounds(100_000, 20_000);

interface Login {
  readonly port: number;
  /** Undefined: the certificate is enough. */
  readonly password: string | undefined;
}

describe("clients of Redis and Valkey", () => {
  let world: DatabaseWorld;
  let ofRedis: DatabaseServer | NotHere;
  let ofValkey: DatabaseServer | NotHere;
  let ofCluster: ValkeyCluster | NotHere;
  let agent: Agent;
  let alice: User;

  beforeAll(async () => {
    world = await DatabaseWorld.open();
    const signed = await world.sign("redis");
    const accounts = (login: string) => [`user reader on ${login} ~* &* +@all`, `user limited on ${login} ~* &* +@all -monitor`];
    [ofRedis, ofValkey, ofCluster] = await Promise.all([
      hasRedis
        ? startRedis({ signed, folder: world.folder("redis") }, accounts(">hunter2"))
        : new NotHere("Redis needs root and Debian's redis-server"),
      ifPossible(() => startValkey({ signed, folder: world.folder("valkey") }, accounts("resetpass"))),
      ifPossible(() => startValkeyCluster({ signed, folder: world.folder("cluster") }, accounts("resetpass"))),
    ]);
    const offered: { name: string; protocol: "redis"; at: number | string }[] = [];
    for (const [name, server] of [["redis", ofRedis] as const, ["valkey", ofValkey] as const])
      if (!(server instanceof NotHere)) offered.push({ name, protocol: "redis", at: world.use(server).port });
    if (!(ofCluster instanceof NotHere)) {
      for (const [index, member] of ofCluster.members.entries())
        offered.push({ name: `member-${index}`, protocol: "redis", at: world.use(member).port });
      offered.push({ name: "cluster", protocol: "redis", at: `rediss://127.0.0.1:${ofCluster.members[0]?.port}?mode=cluster` });
    }
    agent = await world.offer(offered);
    alice = await world.user("alice", { db_users: ["reader", "limited"], db_names: ["0"] });
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  const servers = [
    { title: "Redis 7 with its own password", name: "redis", password: "hunter2", get: () => ofRedis },
    { title: "Valkey 9 by certificate alone", name: "valkey", password: undefined, get: () => ofValkey },
  ];
  const loginArgs = ({ port, password }: Login, user = "reader") => [
    ...["-p", String(port), "--no-auth-warning"],
    ...(password === undefined ? [] : ["--user", user, "--pass", password]),
  ];
  const account = ({ password }: Login, user = "reader") => (password === undefined ? {} : { username: user, password });
  const ioredis = (login: Login) => new Redis({ host: "127.0.0.1", port: login.port, ...account(login) });
  const cli = async (program: string, login: Login, ...args: readonly string[]): Promise<string> =>
    (await output(program, [...loginArgs(login), ...args])).trim();

  const clients: Readonly<Record<string, (login: Login) => Promise<string>>> = {
    "redis-cli 7": (login) => cli("redis-cli", login, "ACL", "WHOAMI"),
    "redis-cli 7 with RESP3": (login) => cli("redis-cli", login, "-3", "ACL", "WHOAMI"),
    "redis-cli 8 with RESP3": async (login) => await cli((await sidPrograms()).path("redis-cli"), login, "-3", "ACL", "WHOAMI"),
    "valkey-cli 9": async (login) => await cli((await sidPrograms()).path("valkey-cli"), login, "ACL", "WHOAMI"),
    ioredis: async (login) => {
      const client = ioredis(login);
      try {
        return String(await client.call("ACL", "WHOAMI"));
      } finally {
        client.disconnect();
      }
    },
    "node-redis with RESP3": async (login) => {
      const client = createClient({ socket: { host: "127.0.0.1", port: login.port }, RESP: 3, ...account(login) });
      await client.connect();
      try {
        return await client.sendCommand<string>(["ACL", "WHOAMI"]);
      } finally {
        client.destroy();
      }
    },
  };

  describe.each(servers)("$title", ({ name, password, get }) => {
    const need = (skip: (note: string) => never): void => {
      const server = get();
      if (server instanceof NotHere) skip(server.message);
    };
    const open = (user = "reader") => databaseTunnel(alice, name, [`--db-user=${user}`]);

    test.for(Object.entries(clients))("%s is the account", async ([, client], { skip }) => {
      need(skip);
      await using local = await open();
      const who = await ifPossible(() => client({ port: local.port, password }));
      if (who instanceof NotHere) return skip(who.message);
      expect(who).toBe("reader");
    });

    test.skipIf(!hasPython)("python3-redis: a value, a pipeline, a transaction and a message", async ({ skip }) => {
      need(skip);
      await using local = await open();
      const printed = await output(python, [script, String(local.port), ...(password === undefined ? [] : ["reader", password])]);
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
      const client = createClient({ socket: { host: "127.0.0.1", port: local.port }, RESP: 3, ...account({ port: local.port, password }) });
      await client.connect();
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
      await cli("redis-cli", { port: local.port, password }, "SET", "watched", "1");
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
      await cli("redis-cli", { port: local.port, password }, "SET", "monitored", "1");
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
    if (ofRedis instanceof NotHere) return skip(ofRedis.message);
    await using local = await databaseTunnel(alice, "redis", ["--db-user=reader"]);
    const login = { port: local.port, password: "hunter2" };
    const file = world.folder("large");
    await writeFile(file, Buffer.alloc(large, randomBytes(1024)));
    const memory = await watchMemory(agent.service.pid);
    const send = 'redis-cli "$@" -x SET large <"$0"';
    expect(await output("sh", ["-c", send, file, ...loginArgs(login)], { limitMs: 500_000 })).toBe("OK\n");
    expect(await cli("redis-cli", login, "STRLEN", "large")).toBe(String(large));
    expect(await memory.growth()).toBeLessThan(streamGrowth);
    await cli("redis-cli", login, "DEL", "large");
  });

  test("a client that has not logged in cannot send giant commands", async ({ skip }) => {
    if (ofRedis instanceof NotHere) return skip(ofRedis.message);
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
    if (ofCluster instanceof NotHere) return skip(ofCluster.message);
    const [first, , last] = ofCluster.members;
    await using low = await databaseTunnel(alice, "member-0", ["--db-user=reader"]);
    await using high = await databaseTunnel(alice, "member-2", ["--db-user=reader"]);
    const login = (port: number): Login => ({ port, password: undefined });
    // The slots of these keys are 3300 and 15495.
    expect(await cli("redis-cli", login(low.port), "SET", "b", "1")).toBe("OK");
    expect(await cli("redis-cli", login(high.port), "SET", "a", "1")).toBe("OK");
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
    const real = (): readonly string[] => (ofCluster instanceof NotHere ? [] : ofCluster.members.map(({ port }) => String(port)));

    test("redis-cli -c, ioredis and node-redis reach every member by local ports, and follow a slot to another member", async ({ skip }) => {
      if (ofCluster instanceof NotHere) return skip(ofCluster.message);
      await using local = await databaseTunnel(alice, "cluster", ["--db-user=reader"]);
      expect(local.said()).toMatch(/redis-cli -c/);
      const login = { port: local.port, password: undefined };
      for (const key of keys) expect(await cli("redis-cli", login, "-c", "SET", key, `of ${key}`)).toMatch(/OK$/);
      for (const version of ["-2", "-3"]) {
        for (const map of ["SLOTS", "SHARDS", "NODES"]) {
          const shown = await cli("redis-cli", login, version, "CLUSTER", map);
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
      await ofCluster.moveSlot({ slot: 7365, key: "c", from: 1, to: 2 });
      expect(await cli("redis-cli", login, "-c", "GET", "c")).toMatch(/of c$/);
      expect([await byIoredis.get("c"), await byNodeRedis.get("c")]).toEqual(["of c", "of c"]);
      byIoredis.disconnect();
      byNodeRedis.destroy();
      const starts = await auditEvents(world.cluster, "db.session.start");
      const named = new Set(starts.filter((event) => event.db_service === "cluster").map((event) => event.db_member));
      expect(named).toEqual(new Set([undefined, ...real().map((port) => `127.0.0.1:${port}`)]));
    });

    test("tsh db connect runs redis-cli in cluster mode", async ({ skip }) => {
      if (ofCluster instanceof NotHere) return skip(ofCluster.message);
      const found = await alice.tsh(["db", "connect", "--db-user=reader", "cluster", "SET", "a", "connected"]);
      expect(found.stdout).toMatch(/OK/);
    });
  });
});
