import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TestSession } from "./testing/test-session.ts";

describe("a session with a server", () => {
  let redis: TestSession;
  beforeEach(async () => {
    redis = await TestSession.start();
  });
  afterEach(async () => await redis[Symbol.asyncDispose]());

  test("the certificate logs in, and no password reaches the server", async () => {
    await redis.open();
    redis.say("HELLO", "3", "AUTH", "alice", "sesame");
    redis.say("AUTH", "alice", "sesame");
    redis.say("GET", "k");
    expect(await redis.until("k\r\n")).toBe("+OK\r\n+OK\r\n$1\r\nk\r\n");
    expect(redis.server.seen).toEqual(["ACL WHOAMI", "HELLO 3", expect.stringMatching(/^answered-[0-9a-f]{32}-1$/), "GET k"]);
    expect(redis.queries()).toEqual(["HELLO 3 AUTH alice ***", "AUTH alice ***", "GET k"]);
    expect(redis.inside.logins).toMatchObject([{ names: { user: "alice", name: undefined } }]);
  });

  describe("that wants a password", () => {
    beforeEach(() => {
      redis.server.certified = undefined;
    });

    test("nothing but the login of the account reaches it first", async () => {
      await redis.open();
      redis.say("GET", "k");
      redis.say("AUTH", "bob", "sesame");
      redis.say("AUTH", "alice", "wrong");
      redis.inside.near.write("AUTH alice sesame\r\n");
      redis.say("GET", "k");
      expect(await redis.until("k\r\n")).toMatch(/^-NOAUTH [^-]*-NOPERM AUTH is refused[^-]*-WRONGPASS [^-]*\+OK\r\n\$1\r\nk\r\n$/);
      expect(redis.server.seen).toEqual(["ACL WHOAMI", "AUTH alice wrong", "AUTH alice sesame", "ACL WHOAMI", "GET k"]);
      expect(redis.queries()).toEqual(["AUTH *** *** !", "AUTH alice *** !", "AUTH alice ***", "GET k"]);
      expect(JSON.stringify(redis.inside.events)).not.toMatch(/sesam|wrong/);
    });

    test("without an account that was asked for, the one of HELLO counts", async () => {
      await redis.open({ asked: {} });
      redis.say("PING");
      redis.say("HELLO", "3", "AUTH", "alice", "sesame");
      redis.say("GET", "k");
      expect(await redis.until("k\r\n")).toBe("-NOAUTH Authentication required.\r\n%1\r\n+proto\r\n:3\r\n$1\r\nk\r\n");
      expect(redis.inside.logins).toMatchObject([{ names: { user: "alice" } }]);
    });

    test("a client that leaves has not failed", async () => {
      await redis.open();
      redis.say("QUIT");
      expect(await redis.until("")).toBe("+OK\r\n<end>");
      expect(await redis.ended).toBeUndefined();
    });

    test("more than 10 arguments end it, and are reported without what they hold", async () => {
      await redis.open();
      redis.inside.near.write("*11\r\n$4\r\nAUTH\r\n$5\r\nalice\r\n");
      expect(await redis.until("")).toMatch(/^-ERR Protocol error: invalid unauthenticated multibulk length.*\r\n<end>$/);
      expect(redis.inside.events).toEqual([{ event: "db.session.malformed_packet", payload: Buffer.from("*11").toString("base64") }]);
    });

    test("a server that logs in somebody else is not used", async () => {
      await redis.open();
      redis.server.renamed = "bob";
      redis.say("AUTH", "alice", "sesame");
      expect(await redis.until("")).toMatch(/^-NOPERM the server did not log the session in as "alice"\r\n<end>$/);
    });

    test("being someone else there is not being logged in", async () => {
      redis.server.certified = "default";
      await redis.open();
      redis.say("GET", "k");
      redis.say("HELLO", "3", "SETNAME", "auth", "SETNAME", "x");
      redis.say("AUTH", "alice", "sesame");
      redis.say("GET", "k");
      expect(await redis.until("k\r\n")).toMatch(/^(-NOAUTH Authentication required.\r\n){2}\+OK\r\n\$1\r\nk\r\n$/);
      expect(redis.server.seen).toEqual(["ACL WHOAMI", "AUTH alice sesame", "ACL WHOAMI", "GET k"]);
    });
  });
});
