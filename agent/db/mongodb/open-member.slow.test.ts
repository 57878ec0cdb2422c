import { type AddressInfo, createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { openMongoServer } from "../../../test/world/mongo-server.ts";
import { find, hello, TestSessions } from "./testing/test-sessions.ts";

describe("a connection of a MongoDB client", () => {
  let sessions: TestSessions;
  beforeEach(async () => {
    sessions = await TestSessions.start();
  });
  afterEach(async () => await sessions[Symbol.asyncDispose]());

  test("a refused user gets the reason as the answer to each command, not in hello", async () => {
    const denied = new PlatformError("denied", "access to database orders denied", { hint: "ask for the role db" });
    const { client, done } = await sessions.open({
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
    expect(sessions.server.commands).toEqual([]);
  });

  test("a server that refuses the account is named with what to do", async () => {
    const strict = await openMongoServer({ accounts: ["CN=bob"] });
    try {
      const { client, done } = await sessions.open({ members: [strict] });
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

  test("a login by password is refused here with what to do, one by certificate succeeds", async () => {
    const { client, events } = await sessions.open();
    await client.ask(hello);
    const refused = await client.ask({ saslStart: 1, mechanism: "SCRAM-SHA-256", payload: "s3cret", $db: "admin" });
    expect(refused).toMatchObject({ code: 18, codeName: "AuthenticationFailed" });
    expect(refused.errmsg).toContain("leave user and password empty");
    expect(JSON.stringify(events)).not.toContain("s3cret");
    expect(await client.ask({ authenticate: 1, mechanism: "MONGODB-X509", $db: "$external" })).toMatchObject({ user: "CN=alice", ok: 1 });
    expect(sessions.server.commands.filter(({ name }) => name === "saslStart" || name === "authenticate")).toHaveLength(1);
  });

  test("a server that cannot be reached is reported as such", async () => {
    const gone = await openMongoServer();
    await gone[Symbol.asyncDispose]();
    const { client, done } = await sessions.open({ members: [gone] });
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
      const { client, done } = await sessions.open({ addresses: [{ host: "127.0.0.1", port }] });
      expect(await client.ask(hello)).toMatchObject({ ok: 1 });
      expect(await client.ask(find)).toMatchObject({ ok: 0 });
      expect(await done).toMatchObject({ code: "unavailable" });
    } finally {
      hostile.close();
    }
  });

  test("a uri that asks for an unknown kind of member is reported", async () => {
    const { client } = await sessions.open({ uri: "readPreference=best" });
    expect(await client.ask(hello)).toMatchObject({ ok: 1 });
    expect((await client.ask(find)).errmsg).toContain('readPreference "best"');
  });
});
