import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { turns } from "../../../test/inside/turns.ts";
import { TestSession } from "./testing/test-session.ts";

describe("a session with a server", () => {
  let redis: TestSession;
  beforeEach(async () => {
    redis = await TestSession.start();
  });
  afterEach(async () => await redis[Symbol.asyncDispose]());

  describe("that is cut", () => {
    const locked = new PlatformError("denied", "alice is locked");

    test("the client that awaits a reply gets the reason", async () => {
      await redis.open();
      redis.say("GET", "k");
      redis.say("BLPOP", "list", "0");
      await redis.until("k\r\n");
      redis.inside.end(locked);
      expect(await redis.until("")).toBe("-NOPERM alice is locked\r\n<end>");
      expect(await redis.ended).toBe(locked);
    });

    test("a client that awaits nothing gets nothing", async () => {
      await redis.open();
      redis.say("GET", "k");
      await redis.until("k\r\n");
      redis.inside.end(locked);
      expect(await redis.until("")).toBe("<end>");
      expect(await redis.ended).toBe(locked);
    });

    test("in the middle of a reply its rest comes first, and nothing of the next one", async () => {
      await redis.open();
      redis.say("BLPOP", "list", "0");
      redis.say("BLPOP", "list", "0");
      await expect.poll(() => redis.server.seen.length).toBe(3);
      redis.server.write("*2\r\n$4\r\nlist\r\n$3\r\nab");
      await redis.until("ab");
      redis.inside.end(locked);
      redis.server.write("c\r\n*2\r\n$4\r\nlist");
      expect(await redis.until("")).toBe("c\r\n-NOPERM alice is locked\r\n<end>");
    });

    test("before the login the next command gets the reason", async () => {
      redis.server.certified = undefined;
      await redis.open();
      await expect.poll(() => redis.server.seen.length).toBe(1);
      redis.inside.end(locked);
      redis.say("AUTH", "alice", "sesame");
      expect(await redis.until("")).toBe("-NOPERM alice is locked\r\n<end>");
    });
  });

  test("a server that closes instead of its reply is reported", async () => {
    await redis.open();
    redis.say("BLPOP", "list", "0");
    await expect.poll(() => redis.server.seen.length).toBe(2);
    redis.server.end();
    expect(await redis.until("")).toBe("-ERR the server of database orders closed the connection\r\n<end>");
    redis.inside.near.end();
    expect(await redis.ended).toMatchObject({ code: "unavailable" });
  });

  test("what breaks the protocol ends it: the client's is reported with its first word, the server's is not the client's", async () => {
    await redis.open();
    redis.inside.near.write('AUTH "sesame\r\n');
    expect(await redis.until("")).toBe("-ERR Protocol error: unbalanced quotes in request\r\n<end>");
    await redis.ended;
    expect(redis.inside.events).toEqual([{ event: "db.session.malformed_packet", payload: Buffer.from("AUTH").toString("base64") }]);
    await redis.open();
    redis.say("BROKEN");
    expect(await redis.until("")).toMatch(/^-ERR Protocol error: a reply of type 72\r\n<end>$/);
    expect(redis.queries()).toEqual(["BROKEN"]);
  });

  test("while the audit has no room, nothing more is read; when it cannot be kept, the session ends", async () => {
    const room = Promise.withResolvers<void>();
    await redis.open({ record: () => room.promise });
    redis.say("GET", "one");
    expect(await redis.until("one\r\n")).toBe("$3\r\none\r\n");
    redis.say("BLPOP", "list", "0");
    await turns();
    expect(redis.server.seen).toHaveLength(2);
    room.reject(new PlatformError("limit", "the disk is full"));
    await redis.until("");
    expect(await redis.ended).toMatchObject({ code: "limit" });
  });
});
