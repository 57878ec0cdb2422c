import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MongoClient, type MongoClientOptions } from "mongodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents, audited } from "../world/audited.ts";
import type { User } from "../world/cluster-user.ts";
import { DatabaseWorld } from "../world/database-world.ts";
import { MongoServer } from "../world/mongo-server.ts";
import { MongoSet } from "../world/mongo-set.ts";
import { mongosh } from "../world/mongosh.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { type Finished, output, run } from "../world/program.ts";
import { rounds } from "../world/rounds.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";

const script = resolve(import.meta.dirname, "../world/database-clients/mongo.py");
/** Debian packages its modules for this one. */
const python = "/usr/bin/python3";
const hasPymongo = existsSync(python) && existsSync("/usr/lib/python3/dist-packages/pymongo");

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

  const tunnel = (name: string, account = "reader", user = alice) => databaseTunnel(user, name, [`--db-user=${account}`]);
  const uri = (port: number, more = "directConnection=true") => `mongodb://127.0.0.1:${port}/?${more}`;
  const driver = async (port: number, more?: string, options: MongoClientOptions = {}) =>
    await MongoClient.connect(uri(port, more), { serverSelectionTimeoutMS: 20_000, ...options });
  const evaluate = (program: string, port: number, text: string): Promise<Finished> =>
    run(program, ["--quiet", uri(port), "--eval", text], { env: { HOME: alice.home }, limitMs: 60_000 });

  test("the driver inserts, finds and aggregates", async () => {
    await using local = await tunnel("orders");
    await using client = await driver(local.port);
    const list = client.db("orders").collection("driver");
    await list.insertMany([{ name: "one" }, { name: "two" }]);
    expect(await list.find().toArray()).toMatchObject([{ name: "one" }, { name: "two" }]);
    expect(await list.aggregate([{ $match: { name: "two" } }]).toArray()).toMatchObject([{ name: "two" }]);
    await audited(world.cluster, "db.session.query", (event) => String(event.db_query).includes('"aggregate":"driver"'));
  });

  test.skipIf(!hasPymongo)("pymongo writes and reads; an account that the server refuses is its error 13 within a second or two", async () => {
    await using local = await tunnel("orders");
    expect(await output(python, [script, uri(local.port), "orders"])).toMatch(/^of python\n/);
    await using ghost = await tunnel("orders", "ghost");
    const [refusal = "", seconds] = (await output(python, [script, uri(ghost.port), "orders"])).trim().split("\n");
    expect(refusal).toMatch(/^13 .*ghost/);
    expect(Number(seconds)).toBeLessThan(3);
  });

  test("mongosh starts and evaluates; another database is refused", { timeout: 300_000 }, async ({ skip }) => {
    if (shell instanceof NotHere) return skip(shell.message);
    await using local = await tunnel("orders");
    const text = 'const shop = db.getSiblingDB("orders"); shop.shell.insertOne({ name: "of mongosh" }); print(shop.shell.findOne().name)';
    expect(await evaluate(shell, local.port, text)).toMatchObject({ status: 0, stdout: "of mongosh\n" });
    const other = await evaluate(shell, local.port, 'db.getSiblingDB("payroll").list.findOne()');
    expect(other.stderr + other.stdout).toMatch(/payroll/);
  });

  test("mongosh prints the reason of a refusal within seconds", { timeout: 300_000 }, async ({ skip }) => {
    if (shell instanceof NotHere) return skip(shell.message);
    await using local = await tunnel("orders", "ghost");
    expect((await evaluate(shell, local.port, 'db.getSiblingDB("orders").list.findOne()')).stderr).toMatch(/ghost/);
  });

  test("the driver gets the reason of a refusal as error 13, and at once", async () => {
    await using local = await tunnel("orders", "ghost");
    await using client = await driver(local.port);
    const begin = performance.now();
    await expect(client.db("orders").collection("list").findOne()).rejects.toMatchObject({ code: 13, message: expect.stringMatching(/ghost/) });
    expect(performance.now() - begin).toBeLessThan(rounds(1_000, 3_000));
  });

  test("a replica set behind one address: transactions' numbers are sent, and a new primary takes the next write", async () => {
    await using local = await tunnel("replica");
    await using client = await driver(local.port, "replicaSet=rs0", { heartbeatFrequencyMS: 500 });
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
  });

  test("a driver that watches its server stays connected, leaves no event, and counts as idle", async () => {
    await using local = await tunnel("orders");
    await using client = await driver(local.port, undefined, { heartbeatFrequencyMS: 500, serverMonitoringMode: "stream" });
    await client.db("orders").command({ ping: 1 });
    const events = async (): Promise<number> => (await auditEvents(world.cluster, "db.session.query")).length;
    await expect.poll(events).toBeGreaterThan(0);
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

  test.skipIf(!hasPymongo)("47 MB in one message pass; one that is longer than a server takes ends the connection", async () => {
    await using local = await tunnel("orders");
    const before = server.commands.length;
    expect(await output(python, [script, uri(local.port), "orders", "47"])).toMatch(/^47\n/);
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
  });

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
