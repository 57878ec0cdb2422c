import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { engineSession } from "../../../test/inside/engine-session.ts";
import { LateAudit } from "../../../test/inside/late-audit.ts";
import { statementLog } from "../../../test/inside/statement-log.ts";
import { turns } from "../../../test/inside/turns.ts";
import type { ServerAccess } from "../engine.ts";
import { TestSession } from "./testing/test-session.ts";

describe("a session with a server", () => {
  let redis: TestSession;
  beforeEach(async () => {
    redis = await TestSession.start();
  });
  afterEach(async () => await redis[Symbol.asyncDispose]());

  test("a refused command is answered in its place, and never reaches the server", async () => {
    await redis.open();
    for (const name of ["GET", "RESET", "GET", "PSYNC"]) redis.say(name, "k");
    redis.say("GET", "last");
    const text = await redis.until("last\r\n");
    expect(text).toMatch(/^\$1\r\nk\r\n-NOPERM RESET is refused.*\r\n\$1\r\nk\r\n-NOPERM PSYNC is refused.*\r\n\$4\r\nlast\r\n$/);
    expect(redis.server.seen.join()).not.toMatch(/RESET|PSYNC/);
    expect(redis.queries()).toEqual(["GET k", "RESET !", "GET k", "PSYNC !", "GET last"]);
  });

  test("in a strict session a command goes to the server once its event is safe", async () => {
    const audit = new LateAudit();
    await redis.open(audit.options);
    redis.say("GET", "a");
    await audit.recorded(1);
    redis.say("GET", "b");
    await turns();
    expect([audit.events.length, redis.server.seen.join()]).toEqual([1, expect.not.stringContaining("GET")]);
    audit.release();
    expect(await redis.until("a\r\n")).toBe("$1\r\na\r\n");
    await audit.recorded(2);
    expect(redis.server.seen).not.toContain("GET b");
    audit.fail(new PlatformError("unavailable", "the host could not record it"));
    expect(await redis.until("")).toMatch(/<end>$/);
    expect(redis.server.seen).not.toContain("GET b");
  });

  test("the recording has each command with its result, and no password", async () => {
    const { log, statements } = statementLog();
    await redis.open({ statements: log });
    redis.say("HELLO", "3", "AUTH", "alice", "sesame");
    redis.say("AUTH", "alice", "sesame");
    for (const name of ["GET", "NONSENSE", "RESET"]) redis.say(name, "k");
    redis.say("GET", "elsewhere");
    redis.say("GET", "last");
    await redis.until("last\r\n");
    const shown = statements.map(({ text, parameters = [], result }) => [text, ...parameters, result?.outcome, result?.code].join(" ").trim());
    expect(shown).toEqual([
      "HELLO 3 AUTH alice *** ok",
      "AUTH alice *** ok",
      "GET k ok",
      "NONSENSE k failed ERR",
      "RESET refused",
      "GET elsewhere failed MOVED",
      "GET last ok",
    ]);
    expect(JSON.stringify(statements)).not.toMatch(/sesame|answered-/);
  });

  test("a refusal answers the first commands, and then the connection closes", async () => {
    const judge = (): never => {
      throw new PlatformError("denied", "access to cache denied\r\n+OK", { hint: "ask for it" });
    };
    await redis.open({ judge });
    await turns();
    expect(redis.inside.near.readableLength).toBe(0);
    redis.say("HELLO", "3");
    redis.say("CLIENT", "SETINFO", "LIB-NAME", "x");
    // A client that sends several in one go looks at the first answer when it has all.
    expect(await redis.until("")).toBe(`${"-NOPERM access to cache denied +OK (ask for it)\r\n".repeat(2)}<end>`);
    redis.inside.near.end();
    expect(await redis.ended).toMatchObject({ code: "denied" });
    expect(redis.server.seen).toEqual([]);
  });

  test("a server that cannot be reached is reported", async () => {
    const dial = async (): Promise<Socket> => await Promise.reject(new PlatformError("unavailable", "could not reach database orders"));
    const login = async (): Promise<ServerAccess> =>
      await Promise.resolve({ user: "alice", dial, secure: async () => await Promise.reject(new Error("not called")) });
    await redis.open({}, { login });
    redis.say("PING");
    expect(await redis.until("")).toBe("-ERR could not reach database orders\r\n<end>");
  });

  test("mode=cluster is refused in words", async () => {
    const { session } = await engineSession({ protocol: "redis", port: redis.port });
    await redis.open({}, { database: { ...session.database, options: new Map([["mode", "cluster"]]) } });
    session.client.destroy();
    redis.say("PING");
    expect(await redis.until("")).toMatch(/^-ERR orders is a cluster: .*tsh.*\r\n<end>$/);
    expect(redis.server.seen).toEqual([]);
  });

  test("where a server points to another member, the client gets words", async () => {
    await redis.open();
    redis.say("GET", "elsewhere");
    expect(await redis.until("\r\n")).toMatch(/^-ERR the key is on another member of the cluster, 10\.0\.0\.1:6379: /);
  });

  test("the database that was asked for is selected, and others are refused", async () => {
    await redis.open({ asked: { user: "alice", name: "3" }, mayUse: (name) => name === "5" });
    for (const name of ["3", "5", "4"]) redis.say("SELECT", name);
    expect(await redis.until("db_names\r\n")).toBe('+OK\r\n+OK\r\n-NOPERM access to database "4" denied: no role allows it in db_names\r\n');
    expect(redis.server.seen.slice(0, 4)).toEqual(["ACL WHOAMI", "SELECT 3", "SELECT 3", "SELECT 5"]);
  });

  test("a database that is not there is reported, and database 0 is not entered without a right to it", async () => {
    await redis.open({ asked: { user: "alice", name: "99" } });
    redis.say("PING");
    expect(await redis.until("")).toBe('-ERR could not select database "99": ERR DB index is out of range\r\n<end>');
    await redis.open({ mayUse: (name) => name === "5" });
    redis.say("PING");
    expect(await redis.until("")).toMatch(/^-NOPERM access to database 0 denied/);
  });
});
