import { UUID } from "bson";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LateAudit } from "../../../test/inside/late-audit.ts";
import { statementLog } from "../../../test/inside/statement-log.ts";
import { find, hello, TestSessions } from "./testing/test-sessions.ts";
import { flag } from "./wire-message.ts";

describe("a connection of a MongoDB client", () => {
  let sessions: TestSessions;
  beforeEach(async () => {
    sessions = await TestSessions.start();
  });
  afterEach(async () => await sessions[Symbol.asyncDispose]());

  test("its commands reach the server under the account, and are audited; hello is neither audited nor activity", async () => {
    const { client, events, logins, touches } = await sessions.open();
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
    expect(sessions.server.commands.map(({ name }) => name)).toEqual(["hello", "authenticate", "hello", "insert", "find"]);
    expect(sessions.server.commands[0]?.document).toMatchObject({ client: hello.client });
    expect(sessions.server.commands[2]?.document.client).toBeUndefined();
  });

  test("a hello by OP_QUERY gets an OP_REPLY, at first and later", async () => {
    const { client } = await sessions.open();
    for (let round = 0; round < 2; round += 1) {
      client.query({ isMaster: 1, helloOk: true, compression: ["zlib"] });
      const { opcode, document } = await client.next();
      expect([opcode, document.ismaster, document.compression]).toEqual([1, true, undefined]);
    }
  });

  test("an OP_QUERY that reads a collection is refused and audited, at first and later, also if its filter looks like hello", async () => {
    for (const isFirst of [true, false]) {
      const { client, events } = await sessions.open();
      if (!isFirst) await client.ask(hello);
      const before = sessions.server.commands.length;
      client.query({ hello: null }, "secret.users");
      expect(await client.next()).toMatchObject({ opcode: 1, document: { ok: 0, errmsg: expect.stringContaining('"secret.users"') } });
      expect(events).toMatchObject([{ event: "db.session.query", success: false, error: expect.stringContaining('"secret.users"') }]);
      expect(await client.ask(find)).toMatchObject({ ok: 1 });
      const after = sessions.server.commands.slice(before);
      expect(after.filter(({ document }) => document.hello === null)).toEqual([]);
    }
  });

  test("a client that does not greet is served too", async () => {
    const { client } = await sessions.open();
    expect(await client.ask(find)).toMatchObject({ ok: 1 });
  });

  test("a user ends sessions of own connections alone", async () => {
    const [one, two, other] = [await sessions.open(), await sessions.open(), await sessions.open({ user: "bob" })];
    const lsid = { id: new UUID() };
    for (const { client } of [one, two, other]) await client.ask(hello);
    await one.client.ask({ ...find, lsid });
    const reachedServer = (): number => sessions.server.commands.filter(({ name }) => name === "killSessions").length;
    for (const killSessions of [[lsid], []]) {
      const refused = expect.stringContaining("killSessions is refused");
      expect(await other.client.ask({ killSessions, $db: "admin" })).toMatchObject({ ok: 0, errmsg: refused });
      expect(other.events.at(-1)).toMatchObject({ event: "db.session.query", success: false, error: refused });
    }
    expect(reachedServer()).toBe(0);
    await two.client.ask({ killSessions: [lsid], $db: "admin" });
    expect(reachedServer()).toBe(1);
  });

  test("a refused command is answered by the agent, and the connection goes on", async () => {
    const { client, events } = await sessions.open();
    await client.ask(hello);
    expect(await client.ask({ find: "c", $db: "other" })).toMatchObject({ ok: 0, code: 13, codeName: "Unauthorized" });
    expect(events).toMatchObject([{ success: false, error: 'access to database name "other" denied for account alice' }]);
    expect(await client.ask(find)).toMatchObject({ ok: 1 });
    expect(sessions.server.commands.map(({ name }) => name)).not.toContain("other");
  });

  test("a refused command that awaits no answer gets none", async () => {
    const { client, events } = await sessions.open();
    await client.ask(hello);
    client.send({ insert: "c", documents: [], $db: "other" }, flag.moreToCome);
    client.send({ insert: "c", documents: [{ a: 1 }], $db: "orders" }, flag.moreToCome);
    expect(await client.ask(find)).toMatchObject({ cursor: { firstBatch: [{ a: 1 }] } });
    expect(events.map((event) => "success" in event && event.success)).toEqual([false, true, true]);
  });

  test("in a strict session a command goes to the server once its event is safe, also a client's first message", async () => {
    for (const isFirst of [true, false]) {
      const audit = new LateAudit();
      const { client } = await sessions.open(audit.options);
      if (!isFirst) await client.ask(hello);
      const finds = (): number => sessions.server.commands.filter(({ name }) => name === "find").length;
      const before = finds();
      const answer = client.ask(find);
      await audit.recorded(1);
      expect(finds()).toBe(before);
      audit.release();
      expect(await answer).toMatchObject({ ok: 1 });
      expect(finds()).toBe(before + 1);
    }
  });

  test("its recording has each command with its result", async () => {
    const { log, statements } = statementLog();
    const { client } = await sessions.open({ statements: log });
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

  test("a large insert reaches the server as it is, whatever comes first in it", async () => {
    const { client, events } = await sessions.open();
    await client.ask(hello);
    const text = "x".repeat(3_000_000);
    expect(await client.ask({ insert: "c", documents: [{ text }], $db: "orders" })).toMatchObject({ n: 1 });
    expect(sessions.server.store.collection("orders.c")).toMatchObject([{ text }]);
    expect(events).toMatchObject([{ db_query_bytes: expect.any(Number) }]);
    expect(await client.ask({ insert: "c", documents: [{ text }], $db: "other" })).toMatchObject({ code: 13 });
  });
});
