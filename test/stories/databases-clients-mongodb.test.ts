import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { MongoClient, type MongoClientOptions } from "mongodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents, audited } from "../world/audited.ts";
import type { User } from "../world/cluster-user.ts";
import { DatabaseWorld } from "../world/database-world.ts";
import { MongoServer } from "../world/mongo-server.ts";
import { MongoSet } from "../world/mongo-set.ts";
import { mongosh } from "../world/mongosh.ts";
import { because, ifPossible, NotHere } from "../world/not-here.ts";
import { type Finished, run } from "../world/program.ts";
import { noPymongo, pymongo } from "../world/pymongo.ts";
import { rounds } from "../world/rounds.ts";
import { databaseTunnel, type RunningTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

/** The server is one of ours (test/world/mongo-server.ts): no mongod can be installed from Debian or npm. The clients are real. */
describe("clients of MongoDB, at a server of ours", () => {
  let world: DatabaseWorld;
  let server: MongoServer;
  let members: readonly MongoServer[];
  let set: MongoSet;
  let shell: string | NotHere;
  let alice: User;

  beforeAll(async () => {
    world = await DatabaseWorld.open();
    const signed = await world.sign("mongodb");
    const pem = await readFile(`${signed}.crt`);
    const options = { tls: { key: pem, cert: pem, ca: await readFile(`${signed}.cas`) }, accounts: ["CN=reader"] };
    server = world.use(await new MongoServer(options).open());
    set = new MongoSet("rs0");
    members = await Promise.all([0, 1, 2].map(async () => world.use(await new MongoServer({ ...options, set }).open())));
    set.elect(members[0]?.address);
    const replica = `mongodb://${members.map(({ address }) => address).join(",")}/?replicaSet=rs0`;
    await world.offer([
      { name: "orders", protocol: "mongodb", at: server.port },
      { name: "replica", protocol: "mongodb", at: replica },
    ]);
    shell = await ifPossible(mongosh);
    alice = await world.user("alice", { db_users: ["reader", "ghost"], db_names: ["orders"] });
    // mongosh is downloaded in here.
  }, 400_000);
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  const tunnel = (name: string, account = "reader", user = alice) => databaseTunnel(user, name, ["--tunnel", `--db-user=${account}`]);
  const uri = (port: number, more = "directConnection=true") => `mongodb://127.0.0.1:${port}/?${more}`;
  const driver = async (port: number, more?: string, options: MongoClientOptions = {}) =>
    await MongoClient.connect(uri(port, more), { serverSelectionTimeoutMS: 20_000, ...options });
  /** For MongoDB's shell and drivers, as `tsh proxy db --tunnel` prints it. */
  const printedUri = async (local: RunningTunnel): Promise<string> =>
    await until("tsh prints the URI", () => /mongodb:\/\/[^'"\s]+/.exec(local.said())?.[0]);
  /** Long before a driver gives a server up, after 20 s. */
  const denials = [
    { by: "the server", account: "ghost", says: /ghost/ },
    { by: "the role", account: "writer", says: /alice may not connect as writer/ },
  ];
  const evaluate = (program: string, address: string, text: string): Promise<Finished> =>
    run(program, ["--quiet", address, "--eval", text], { env: { HOME: alice.home }, limitMs: 60_000 });

  test("the driver by the URI that tsh prints, whose first hello is an OP_QUERY, inserts, finds and aggregates", async () => {
    await using local = await tunnel("orders");
    const before = server.commands.length;
    await using client = await MongoClient.connect(await printedUri(local), { serverSelectionTimeoutMS: 20_000 });
    const hello = server.commands.slice(before).filter(({ name, opcode }) => opcode === 2004 && /^ismaster$/i.test(name));
    expect(hello.length).toBeGreaterThan(0);
    const list = client.db("orders").collection("driver");
    await list.insertMany([{ name: "one" }, { name: "two" }]);
    expect(await list.find().toArray()).toMatchObject([{ name: "one" }, { name: "two" }]);
    expect(await list.aggregate([{ $match: { name: "two" } }]).toArray()).toMatchObject([{ name: "two" }]);
    await audited(world.cluster, "db.session.query", (event) => String(event.db_query).includes('"aggregate":"driver"'));
  });

  test.skipIf(noPymongo !== undefined)(`pymongo writes and reads by the URI that tsh prints${because(noPymongo)}`, async () => {
    await using local = await tunnel("orders");
    expect(await pymongo(await printedUri(local), "orders")).toMatch(/^of python\n/);
  });

  describe.each(denials)("an account that $by refuses", ({ account, says }) => {
    test.skipIf(noPymongo !== undefined)(`is error 13 of pymongo, within seconds${because(noPymongo)}`, async () => {
      await using local = await tunnel("orders", account);
      const [refusal = "", seconds] = (await pymongo(uri(local.port), "orders")).trim().split("\n");
      expect(refusal).toMatch(/^13 /);
      expect(refusal).toMatch(says);
      expect(Number(seconds)).toBeLessThan(rounds(1, 15));
    });

    test("has its reason printed by mongosh", { timeout: 300_000 }, async ({ skip }) => {
      if (shell instanceof NotHere) return skip(shell.message);
      await using local = await tunnel("orders", account);
      expect((await evaluate(shell, uri(local.port), 'db.getSiblingDB("orders").list.findOne()')).stderr).toMatch(says);
    });

    test("is error 13 of the driver, at once", async () => {
      await using local = await tunnel("orders", account);
      const begin = performance.now();
      // The driver may learn of it as it connects.
      const asked = driver(local.port).then(async (client) => {
        await using open = client;
        return await open.db("orders").collection("list").findOne();
      });
      await expect(asked).rejects.toMatchObject({ code: 13, message: expect.stringMatching(says) });
      expect(performance.now() - begin).toBeLessThan(rounds(1_000, 3_000));
    });
  });

  test("mongosh starts and evaluates; another database is refused", { timeout: 300_000 }, async ({ skip }) => {
    if (shell instanceof NotHere) return skip(shell.message);
    await using local = await tunnel("orders");
    const text = 'const shop = db.getSiblingDB("orders"); shop.shell.insertOne({ name: "of mongosh" }); print(shop.shell.findOne().name)';
    expect(await evaluate(shell, await printedUri(local), text)).toMatchObject({ status: 0, stdout: "of mongosh\n" });
    const other = await evaluate(shell, uri(local.port), 'db.getSiblingDB("payroll").list.findOne()');
    expect(other.stderr + other.stdout).toMatch(/payroll/);
  });

  test("a replica set behind one address: transactions' numbers are sent, and a new primary takes the next write", async () => {
    await using local = await tunnel("replica");
    await using client = new MongoClient(uri(local.port, "replicaSet=rs0"), { serverSelectionTimeoutMS: 20_000, heartbeatFrequencyMS: 500 });
    const dialled = new Set<string>();
    const shown = new Set<string>();
    client.on("connectionCreated", ({ address }) => dialled.add(address));
    client.on("serverOpening", ({ address }) => dialled.add(address));
    client.on("topologyDescriptionChanged", ({ newDescription: { type, servers } }) => {
      for (const { address, type: kind } of servers.values()) shown.add(`${type} ${kind} ${address}`);
    });
    await client.connect();
    const list = client.db("orders").collection<{ name: string }>("replicated");
    await list.insertOne({ name: "first" });
    const [primary, second] = members;
    const inserted = primary?.commands.find(({ name, document }) => name === "insert" && document.insert === "replicated");
    expect(inserted?.document.txnNumber).toBeDefined();
    set.elect(second?.address);
    const begin = performance.now();
    await list.insertOne({ name: "second" });
    expect(performance.now() - begin).toBeLessThan(10_000);
    expect(second?.commands.filter(({ name }) => name === "insert")).toHaveLength(1);
    expect(await list.find().toArray()).toMatchObject([{ name: "first" }, { name: "second" }]);
    const own = `127.0.0.1:${local.port}`;
    expect([...dialled]).toEqual([own]);
    expect([...shown]).toContain(`ReplicaSetWithPrimary RSPrimary ${own}`);
  });

  test("a driver that watches its server stays connected, leaves no event, and counts as idle", async () => {
    await using local = await tunnel("orders");
    await using client = await driver(local.port, undefined, { heartbeatFrequencyMS: 500, serverMonitoringMode: "stream" });
    await client.db("orders").command({ ping: 1, comment: "before the watch" });
    const events = async (): Promise<number> => (await auditEvents(world.cluster, "db.session.query")).length;
    // Behind those of the tests before: the agent sends its events in their order.
    await audited(world.cluster, "db.session.query", ({ db_query: query }) => String(query).includes("before the watch"));
    const before = await events();
    // It is about the time itself: two minutes in full.
    await sleep(rounds(120_000, 3_000));
    expect(await events()).toBe(before);
    expect(await client.db("orders").command({ ping: 1 })).toMatchObject({ ok: 1 });
    const idler = await world.user("idler", { db_users: ["reader"], db_names: ["orders"] }, { client_idle_timeout: "2s" });
    await using own = await tunnel("orders", "reader", idler);
    await using idle = await driver(own.port, undefined, { heartbeatFrequencyMS: 500 });
    await idle.db("orders").command({ ping: 1 });
    await audited(world.cluster, "db.session.end", (event) => event.user === "idler" && /activity|idle/.test(String(event.reason)));
  });

  test("other databases are refused in each command that names one", async () => {
    await using local = await tunnel("orders");
    await using client = await driver(local.port);
    const orders = client.db("orders");
    const list = orders.collection("named");
    await list.insertOne({ name: "seven" });
    const denied = { code: 13, message: expect.stringMatching(/payroll/) };
    await expect(client.db("payroll").collection("list").findOne()).rejects.toMatchObject(denied);
    const stages = [
      { $out: { db: "payroll", coll: "copy" } },
      { $merge: { into: { db: "payroll", coll: "copy" } } },
      { $lookup: { from: { db: "payroll", coll: "list" }, as: "rows", pipeline: [] } },
    ];
    for (const stage of stages) await expect(list.aggregate([stage]).toArray()).rejects.toMatchObject(denied);
    const rename = { renameCollection: "orders.named", to: "payroll.named" };
    await expect(orders.command(rename)).rejects.toMatchObject({ code: 13 });
    expect(await list.aggregate([{ $out: "copy" }]).toArray()).toEqual([]);
    expect(server.store.collection("orders.copy")).toHaveLength(1);
    expect(server.commands.some(({ database }) => database === "payroll")).toBe(false);
  });

  test("compression that a client asks for is never agreed on", async () => {
    await using local = await tunnel("orders");
    await using client = await driver(local.port, "directConnection=true&compressors=zlib");
    const { insertedCount } = await client
      .db("orders")
      .collection("large")
      .insertMany(Array.from({ length: 100 }, () => ({ text: "x".repeat(10_000) })));
    expect(insertedCount).toBe(100);
    expect(server.store.collection("orders.large")).toHaveLength(100);
    expect(server.commands.filter(({ name, document }) => /^(hello|ismaster)$/i.test(name) && document.compression !== undefined)).toEqual([]);
  });

  test.skipIf(noPymongo !== undefined)(
    `47 MB in one message pass; one that is longer than a server takes ends the connection${because(noPymongo)}`,
    async () => {
      await using local = await tunnel("orders");
      const before = server.commands.length;
      expect(await pymongo(uri(local.port), "orders", "47")).toMatch(/^47\n/);
      expect(server.commands.slice(before).filter(({ name }) => name === "insert")).toHaveLength(1);
      const header = Buffer.alloc(16);
      for (const [index, value] of [49_000_000, 1, 0, 2013].entries()) header.writeInt32LE(value, 4 * index);
      const socket = connect(local.port, "127.0.0.1");
      const closed = once(
        socket.on("error", () => {}),
        "close",
      );
      socket.write(header);
      await closed;
      await audited(world.cluster, "db.session.malformed_packet", { db_service: "orders" });
    },
  );

  test("a password in the URI is answered by what to do, never by the server; one in a command is masked; X.509 is accepted", async () => {
    await using local = await tunnel("orders");
    const withPassword = `mongodb://alice:hunter2@127.0.0.1:${local.port}/?directConnection=true`;
    await expect(MongoClient.connect(withPassword, { serverSelectionTimeoutMS: 20_000 })).rejects.toThrow(/user and password/);
    expect(server.commands.filter(({ name }) => name.startsWith("sasl"))).toEqual([]);
    await using certified = await driver(local.port, "directConnection=true&authMechanism=MONGODB-X509");
    expect(await certified.db("orders").command({ ping: 1 })).toMatchObject({ ok: 1 });
    await certified.db("orders").command({ createUser: "x", pwd: "hunter3", roles: [] });
    const event = await audited(world.cluster, "db.session.query", (one) => String(one.db_query).includes('"createUser":"x"'));
    expect(event.db_query).not.toContain("hunter3");
    expect(JSON.stringify(await auditEvents(world.cluster, "db.session.query"))).not.toMatch(/hunter[23]/);
  });
});
