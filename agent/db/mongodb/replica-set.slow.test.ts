import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type MongoServer, openMongoServer } from "../../../test/world/mongo-server.ts";
import { MongoSet } from "../../../test/world/mongo-set.ts";
import { hello, TestSessions } from "./testing/test-sessions.ts";
import { flag } from "./wire-message.ts";

describe("a connection of a MongoDB client to a replica set", () => {
  let sessions: TestSessions;
  beforeEach(async () => {
    sessions = await TestSessions.start();
  });
  afterEach(async () => await sessions[Symbol.asyncDispose]());
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
    const { client } = await sessions.open({ members: members.slice(0, 1), uri: "replicaSet=rs0" });
    const at = { hosts: ["127.0.0.1:27017"], me: "127.0.0.1:27017", primary: "127.0.0.1:27017" };
    expect(await client.ask(hello)).toMatchObject({ setName: "rs0", isWritablePrimary: true, ...at });
    expect(await client.ask({ insert: "c", documents: [{ a: 1 }], $db: "orders" })).toMatchObject({ ok: 1 });
    expect(members[1]?.commands.at(-1)?.name).toBe("insert");
  });

  test("reaches a secondary if the uri asks for one", async () => {
    const { client } = await sessions.open({ members, uri: "readPreference=secondary" });
    expect(await client.ask(hello)).toMatchObject({ secondary: true, hosts: ["127.0.0.1:27017"] });
  });

  test("streams its state, and closes when another member takes over", async () => {
    const { client, done, touches, events } = await sessions.open({ members });
    const { topologyVersion } = await client.ask(hello);
    const id = client.send({ hello: 1, topologyVersion, maxAwaitTimeMS: 10, $db: "admin" }, flag.exhaustAllowed);
    const answers = [await client.next(), await client.next(), await client.next()];
    expect(answers[0]?.responseTo).toBe(id);
    for (const { flags, document } of answers) expect([flags, document.me]).toEqual([flag.moreToCome, "127.0.0.1:27017"]);
    expect([touches, events]).toEqual([[], []]);
    set.elect(members[2]?.address);
    await client.ended;
    expect(await done).toMatchObject({ code: "unavailable" });
    const next = await sessions.open({ members });
    expect(await next.client.ask(hello)).toMatchObject({ isWritablePrimary: true });
  });

  test("waits for the end of an election", async () => {
    set.elect(undefined);
    const { client } = await sessions.open({ members });
    const answer = client.ask(hello);
    await expect.poll(() => members.every(({ commands }) => commands.length > 0)).toBe(true);
    set.elect(members[0]?.address);
    expect(await answer).toMatchObject({ isWritablePrimary: true, ok: 1 });
  });
});
