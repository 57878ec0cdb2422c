import { serialize } from "bson";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { turns } from "../../../test/inside/turns.ts";
import { find, hello, TestSessions } from "./testing/test-sessions.ts";
import { opMsg } from "./wire-message.ts";

describe("a connection of a MongoDB client", () => {
  let sessions: TestSessions;
  beforeEach(async () => {
    sessions = await TestSessions.start();
  });
  afterEach(async () => await sessions[Symbol.asyncDispose]());

  test("a cut reaches a client that awaits an answer as an error, and closes one that does not", async () => {
    const one = await sessions.open();
    await one.client.ask(hello);
    // The server never answers it.
    const id = one.client.send({ ...hello, maxAwaitTimeMS: 60_000, topologyVersion: { counter: 0 } });
    one.end(new PlatformError("denied", "alice is locked"));
    await one.client.ended;
    expect(await one.done).toMatchObject({ message: "alice is locked" });
    expect(id).toBeGreaterThan(0);
    const other = await sessions.open();
    await other.client.ask(hello);
    sessions.server.silent = true;
    const waiting = other.client.ask(find);
    await expect.poll(() => sessions.server.commands.at(-1)?.name).toBe("find");
    other.end(new PlatformError("denied", "alice is locked"));
    expect(await waiting).toMatchObject({ code: 13, errmsg: "alice is locked" });
    await other.client.ended;
  });

  test("the end of the server ends the client", async () => {
    const { client, done } = await sessions.open();
    await client.ask(hello);
    sessions.server.cut();
    await client.ended;
    await done;
  });

  test("malformed bytes end the connection, and are audited", async () => {
    const { client, events, done } = await sessions.open();
    await client.ask(hello);
    const bytes = opMsg({ requestId: 1 }, Buffer.from(serialize(find)));
    bytes.writeInt32LE(49_000_000, 0);
    client.write(bytes);
    await client.ended;
    expect(await done).toMatchObject({ code: "invalid" });
    expect(events).toEqual([{ event: "db.session.malformed_packet", payload: bytes.toString("base64", 0, 36) }]);
  });

  test("malformed bytes at the very beginning, too", async () => {
    const { client, events, done, logins } = await sessions.open();
    client.write(Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    await client.ended;
    expect(await done).toMatchObject({ code: "invalid" });
    expect([events.map(({ event }) => event), logins]).toEqual([["db.session.malformed_packet"], []]);
  });

  test("a session without room in the audit reads no further command, and ends when it cannot be recorded", async () => {
    const room = Promise.withResolvers<void>();
    const { client, done } = await sessions.open({ record: () => room.promise });
    await client.ask(hello);
    await client.ask(find);
    client.send(find);
    await turns();
    expect(sessions.server.commands.filter(({ name }) => name === "find")).toHaveLength(1);
    room.reject(new PlatformError("limit", "the audit is full"));
    await client.ended;
    expect(await done).toMatchObject({ code: "limit" });
  });

  test("endless commands whose answers nobody reads end the connection", async () => {
    const { client, done, near } = await sessions.open();
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
      await turns(1);
    }
    expect(await done).toMatchObject({ code: "limit" });
  });

  test("endless hellos without an answer end the connection", async () => {
    const { client, done } = await sessions.open();
    const { topologyVersion } = await client.ask(hello);
    for (let one = 0; one < 200; one += 1) client.send({ hello: 1, topologyVersion, maxAwaitTimeMS: 60_000, $db: "admin" });
    expect(await done).toMatchObject({ code: "limit" });
  });
});
