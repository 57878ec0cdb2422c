import { type AddressInfo, createServer } from "node:net";
import { serialize } from "bson";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostPort } from "../../../core/transport/host-port.ts";
import { type EngineSessionOptions, engineSession, type InsideEngineSession } from "../../../test/inside/engine-session.ts";
import { MongoWireClient } from "../../../test/inside/mongo-wire-client.ts";
import { statementLog } from "../../../test/inside/statement-log.ts";
import { type MongoServer, openMongoServer } from "../../../test/world/mongo-server.ts";
import { MongoSet } from "../../../test/world/mongo-set.ts";
import { serveMongodb } from "./serve-mongodb.ts";
import { flag, opMsg } from "./wire-message.ts";

const hello = { hello: 1, client: { driver: { name: "ours", version: "1" } }, $db: "admin" };
const find = { find: "c", $db: "orders" };

describe("a connection of a MongoDB client", () => {
  let server: MongoServer;
  const opened: { inside: InsideEngineSession; done: Promise<PlatformError | undefined> }[] = [];

  beforeEach(async () => {
    server = await openMongoServer();
  });
  afterEach(async () => {
    for (const { inside, done } of opened.splice(0)) {
      inside.near.destroy();
      await done;
    }
    await server[Symbol.asyncDispose]();
  });

  async function open(
    options: Partial<EngineSessionOptions> & {
      readonly addresses?: readonly HostPort[];
      readonly members?: readonly MongoServer[];
      readonly uri?: string;
    } = {},
  ) {
    const { members = [server], addresses = members.map(({ port }) => ({ host: "127.0.0.1", port })), uri = "", ...others } = options;
    const inside = await engineSession({
      protocol: "mongodb",
      port: server.port,
      asked: { user: "alice", name: "orders" },
      mayUse: (name) => name === "orders",
      ...others,
    });
    const [first, ...rest] = addresses;
    const database = {
      ...inside.session.database,
      ...(first !== undefined && { addresses: [first, ...rest] as const }),
      options: new Map(new URLSearchParams(uri)),
    };
    const touches: number[] = [];
    const session = { ...inside.session, database, reachedAt: "127.0.0.1:27017", touch: () => void touches.push(1) };
    const done = serveMongodb(session);
    opened.push({ inside, done });
    return { ...inside, client: new MongoWireClient(inside.near), done, touches };
  }

  test("its commands reach the server under the account, and are audited; hello is neither audited nor activity", async () => {
    const { client, events, logins, touches } = await open();
    expect(await client.ask(hello)).toMatchObject({ isWritablePrimary: true, ok: 1 });
    expect(logins).toEqual([{ names: { user: "alice", name: "orders" }, userAgent: "ours 1" }]);
    expect(await client.ask(hello)).toMatchObject({ ok: 1 });
    expect(events).toEqual([]);
    expect(touches).toEqual([]);
    expect(await client.ask({ insert: "c", documents: [{ a: 1 }], $db: "orders" })).toEqual({ n: 1, ok: 1 });
    expect((await client.ask(find)).cursor.firstBatch).toEqual([{ a: 1 }]);
    const text = '{"insert":"c","documents":[{"a":1}],"$db":"orders"}';
    expect(events[0]).toEqual({ event: "db.session.query", success: true, db_query: text });
    expect(events).toHaveLength(2);
    expect(touches.length).toBeGreaterThan(1);
    expect(server.commands.map(({ name }) => name)).toEqual(["hello", "authenticate", "hello", "insert", "find"]);
    expect(server.commands[0]?.document).toMatchObject({ client: hello.client });
    expect(server.commands[2]?.document.client).toBeUndefined();
  });

  test("a hello by OP_QUERY gets an OP_REPLY, at first and later", async () => {
    const { client } = await open();
    for (let round = 0; round < 2; round += 1) {
      client.query({ isMaster: 1, helloOk: true, compression: ["zlib"] });
      const { opcode, document } = await client.next();
      expect([opcode, document.ismaster, document.compression]).toEqual([1, true, undefined]);
    }
  });

  test("a client that does not greet is served too", async () => {
    const { client } = await open();
    expect(await client.ask(find)).toMatchObject({ ok: 1 });
  });

  test("a refused command is answered by the agent, and the connection goes on", async () => {
    const { client, events } = await open();
    await client.ask(hello);
    expect(await client.ask({ find: "c", $db: "other" })).toMatchObject({ ok: 0, code: 13, codeName: "Unauthorized" });
    expect(events).toMatchObject([{ success: false, error: 'access to database name "other" denied for account alice' }]);
    expect(await client.ask(find)).toMatchObject({ ok: 1 });
    expect(server.commands.map(({ name }) => name)).not.toContain("other");
  });

  test("a refused command that awaits no answer gets none", async () => {
    const { client, events } = await open();
    await client.ask(hello);
    client.send({ insert: "c", documents: [], $db: "other" }, flag.moreToCome);
    client.send({ insert: "c", documents: [{ a: 1 }], $db: "orders" }, flag.moreToCome);
    expect(await client.ask(find)).toMatchObject({ cursor: { firstBatch: [{ a: 1 }] } });
    expect(events.map((event) => "success" in event && event.success)).toEqual([false, true, true]);
  });

  test("its recording has each command with its result", async () => {
    const { log, statements } = statementLog();
    const { client } = await open({ statements: log });
    await client.ask(hello);
    await client.ask({ insert: "c", documents: [{ a: 1 }, { a: 2 }], $db: "orders" });
    await client.ask(find);
    await client.ask({ find: "c", $db: "other" });
    client.send({ insert: "c", documents: [{ a: 3 }], $db: "orders" }, flag.moreToCome);
    await client.ask({ find: "c", filter: { long: "x".repeat(5_000) }, $db: "orders" });
    await client.ask({ insert: "c", documents: Array.from({ length: 500 }, (_none, index) => ({ index, text: "x".repeat(50) })), $db: "orders" });
    await client.ask(find);
    expect(statements.map(({ result }) => result)).toMatchObject([
      { outcome: "ok", affected: 2 },
      { outcome: "ok", rows: 2 },
      { outcome: "refused", message: expect.stringContaining("denied") },
      { outcome: "unknown" },
      { outcome: "ok" },
      { outcome: "ok", affected: 500 },
      // Its beginning does not say how it ends.
      { outcome: "unknown" },
    ]);
  });

  test("a login by password is refused here with what to do, one by certificate succeeds", async () => {
    const { client, events } = await open();
    await client.ask(hello);
    const refused = await client.ask({ saslStart: 1, mechanism: "SCRAM-SHA-256", payload: "s3cret", $db: "admin" });
    expect(refused).toMatchObject({ code: 18, codeName: "AuthenticationFailed" });
    expect(refused.errmsg).toContain("leave user and password empty");
    expect(JSON.stringify(events)).not.toContain("s3cret");
    expect(await client.ask({ authenticate: 1, mechanism: "MONGODB-X509", $db: "$external" })).toMatchObject({ user: "CN=alice", ok: 1 });
    expect(server.commands.filter(({ name }) => name === "saslStart" || name === "authenticate")).toHaveLength(1);
  });

  test("a refused user gets the reason as the answer to each command, not in hello", async () => {
    const denied = new PlatformError("denied", "access to database orders denied", { hint: "ask for the role db" });
    const { client, done } = await open({
      judge: () => {
        throw denied;
      },
    });
    expect(await client.ask(hello)).toMatchObject({ isWritablePrimary: true, ok: 1 });
    expect(await client.ask(hello)).toMatchObject({ ok: 1 });
    const refused = { ok: 0, code: 13, codeName: "Unauthorized", errmsg: "access to database orders denied: ask for the role db" };
    expect(await client.ask(find)).toEqual(refused);
    expect(await client.ask(find), "mongosh reports the reason once it has said goodbye").toEqual(refused);
    client.leave();
    await client.ended;
    expect(await done).toBe(denied);
    expect(server.commands).toEqual([]);
  });

  test("a server that refuses the account is named with what to do", async () => {
    const strict = await openMongoServer({ accounts: ["CN=bob"] });
    try {
      const { client, done } = await open({ members: [strict] });
      await client.ask(hello);
      const { code, errmsg } = await client.ask(find);
      expect(code).toBe(13);
      expect(errmsg).toContain('refused account CN=alice: Authentication failed.: create user "CN=alice"');
      client.leave();
      expect(await done).toMatchObject({ code: "denied" });
    } finally {
      await strict[Symbol.asyncDispose]();
    }
  });

  test("a cut reaches a client that awaits an answer as an error, and closes one that does not", async () => {
    const one = await open();
    await one.client.ask(hello);
    // The server never answers it.
    const id = one.client.send({ ...hello, maxAwaitTimeMS: 60_000, topologyVersion: { counter: 0 } });
    one.end(new PlatformError("denied", "alice is locked"));
    await one.client.ended;
    expect(await one.done).toMatchObject({ message: "alice is locked" });
    expect(id).toBeGreaterThan(0);
    const other = await open();
    await other.client.ask(hello);
    server.silent = true;
    const waiting = other.client.ask(find);
    await expect.poll(() => server.commands.at(-1)?.name).toBe("find");
    other.end(new PlatformError("denied", "alice is locked"));
    expect(await waiting).toMatchObject({ code: 13, errmsg: "alice is locked" });
    await other.client.ended;
  });

  test("the end of the server ends the client", async () => {
    const { client, done } = await open();
    await client.ask(hello);
    server.cut();
    await client.ended;
    await done;
  });

  test("malformed bytes end the connection, and are audited", async () => {
    const { client, events, done } = await open();
    await client.ask(hello);
    const bytes = opMsg({ requestId: 1 }, Buffer.from(serialize(find)));
    bytes.writeInt32LE(49_000_000, 0);
    client.write(bytes);
    await client.ended;
    expect(await done).toMatchObject({ code: "invalid" });
    expect(events).toEqual([{ event: "db.session.malformed_packet", payload: bytes.toString("base64", 0, 36) }]);
  });

  test("malformed bytes at the very beginning, too", async () => {
    const { client, events, done, logins } = await open();
    client.write(Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    await client.ended;
    expect(await done).toMatchObject({ code: "invalid" });
    expect([events.map(({ event }) => event), logins]).toEqual([["db.session.malformed_packet"], []]);
  });

  test("a session without room in the audit reads no further command, and ends when it cannot be recorded", async () => {
    const room = Promise.withResolvers<void>();
    const { client, done } = await open({ record: () => room.promise });
    await client.ask(hello);
    await client.ask(find);
    client.send(find);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(server.commands.filter(({ name }) => name === "find")).toHaveLength(1);
    room.reject(new PlatformError("limit", "the audit is full"));
    await client.ended;
    expect(await done).toMatchObject({ code: "limit" });
  });

  test("endless commands whose answers nobody reads end the connection", async () => {
    const { client, done, near } = await open();
    await client.ask(hello);
    near.pause();
    const command = opMsg({ requestId: 1 }, Buffer.from(serialize({ find: "c", $db: "other".repeat(20) })));
    const many = Buffer.concat(Array.from({ length: 500 }, () => command));
    let isOver = false;
    void done.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      client.write(many);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(await done).toMatchObject({ code: "limit" });
  });

  test("endless hellos without an answer end the connection", async () => {
    const { client, done } = await open();
    const { topologyVersion } = await client.ask(hello);
    for (let one = 0; one < 200; one += 1) client.send({ hello: 1, topologyVersion, maxAwaitTimeMS: 60_000, $db: "admin" });
    expect(await done).toMatchObject({ code: "limit" });
  });

  test("a server that cannot be reached is reported as such", async () => {
    const gone = await openMongoServer();
    await gone[Symbol.asyncDispose]();
    const { client, done } = await open({ members: [gone] });
    expect(await client.ask(hello)).toMatchObject({ ok: 1 });
    expect(await client.ask(find)).toMatchObject({ ok: 0, code: 133 });
    expect(await done).toMatchObject({ code: "unavailable" });
  });

  test.for<readonly [string, Buffer]>([
    ["another protocol", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")],
    ["a message of two gigabytes", Buffer.from("ffffff7f0000000000000000dd0700000000000000", "hex")],
    ["an answer that is not a document", Buffer.from("1e0000000100000065000000dd070000000000000005000000ff0000000000", "hex")],
    ["nothing", Buffer.alloc(0)],
  ])("a server that answers with %s is reported", async ([, bytes]) => {
    const hostile = createServer((socket) => socket.on("error", () => {}).once("data", () => socket.end(bytes)));
    await new Promise<void>((resolve) => void hostile.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = hostile.address() as AddressInfo;
      const { client, done } = await open({ addresses: [{ host: "127.0.0.1", port }] });
      expect(await client.ask(hello)).toMatchObject({ ok: 1 });
      expect(await client.ask(find)).toMatchObject({ ok: 0 });
      expect(await done).toMatchObject({ code: "unavailable" });
    } finally {
      hostile.close();
    }
  });

  test("a uri that asks for an unknown kind of member is reported", async () => {
    const { client } = await open({ uri: "readPreference=best" });
    expect(await client.ask(hello)).toMatchObject({ ok: 1 });
    expect((await client.ask(find)).errmsg).toContain('readPreference "best"');
  });

  test("a large insert reaches the server as it is, whatever comes first in it", async () => {
    const { client, events } = await open();
    await client.ask(hello);
    const text = "x".repeat(3_000_000);
    expect(await client.ask({ insert: "c", documents: [{ text }], $db: "orders" })).toMatchObject({ n: 1 });
    expect(server.store.collection("orders.c")).toMatchObject([{ text }]);
    expect(events).toMatchObject([{ db_query_bytes: expect.any(Number) }]);
    expect(await client.ask({ insert: "c", documents: [{ text }], $db: "other" })).toMatchObject({ code: 13 });
  });

  describe("to a replica set", () => {
    let members: MongoServer[];
    let set: MongoSet;

    beforeEach(async () => {
      set = new MongoSet("rs0");
      members = [await openMongoServer({ set }), await openMongoServer({ set }), await openMongoServer({ set })];
      set.elect(members[1]?.address);
    });
    afterEach(async () => {
      for (const member of members) await member[Symbol.asyncDispose]();
    });

    test("reaches its primary, which stands at the client's own address", async () => {
      const { client } = await open({ members: members.slice(0, 1), uri: "replicaSet=rs0" });
      const at = { hosts: ["127.0.0.1:27017"], me: "127.0.0.1:27017", primary: "127.0.0.1:27017" };
      expect(await client.ask(hello)).toMatchObject({ setName: "rs0", isWritablePrimary: true, ...at });
      expect(await client.ask({ insert: "c", documents: [{ a: 1 }], $db: "orders" })).toMatchObject({ ok: 1 });
      expect(members[1]?.commands.at(-1)?.name).toBe("insert");
    });

    test("reaches a secondary if the uri asks for one", async () => {
      const { client } = await open({ members, uri: "readPreference=secondary" });
      expect(await client.ask(hello)).toMatchObject({ secondary: true, hosts: ["127.0.0.1:27017"] });
    });

    test("streams its state, and closes when another member takes over", async () => {
      const { client, done, touches, events } = await open({ members });
      const { topologyVersion } = await client.ask(hello);
      const id = client.send({ hello: 1, topologyVersion, maxAwaitTimeMS: 10, $db: "admin" }, flag.exhaustAllowed);
      const answers = [await client.next(), await client.next(), await client.next()];
      expect(answers[0]?.responseTo).toBe(id);
      for (const { flags, document } of answers) expect([flags, document.me]).toEqual([flag.moreToCome, "127.0.0.1:27017"]);
      expect([touches, events]).toEqual([[], []]);
      set.elect(members[2]?.address);
      await client.ended;
      expect(await done).toMatchObject({ code: "unavailable" });
      const next = await open({ members });
      expect(await next.client.ask(hello)).toMatchObject({ isWritablePrimary: true });
    });

    test("waits for the end of an election", async () => {
      set.elect(undefined);
      const { client } = await open({ members });
      const answer = client.ask(hello);
      setTimeout(() => set.elect(members[0]?.address), 100);
      expect(await answer).toMatchObject({ isWritablePrimary: true, ok: 1 });
    });
  });
});
