import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { ServedGrant } from "../../../core/access/authorize.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { RoleOptions } from "../../../core/resources/role.ts";
import { loginNames, type TestSessions, testSessions } from "./testing/test-sessions.ts";

const full = new PlatformError("limit", "this host cannot record sessions right now");

describe("the login of a session", () => {
  let sessions: TestSessions;
  beforeAll(async () => {
    sessions = await testSessions();
  });
  afterAll(async () => await sessions?.[Symbol.asyncDispose]());

  test.for<readonly [options: RoleOptions, allNames: boolean, refusal: RegExp | undefined]>([
    [{}, true, /no role allows it, or one forbids it \(db_replication\)/],
    [{ db_replication: false }, true, /no role allows it, or one forbids it/],
    [{ db_replication: true }, false, /they can copy all databases of the server/],
    [{ db_replication: true }, true, undefined],
  ])("replication with the options %j, all database names: %s", async ([options, allNames, refusal]) => {
    const { session, events } = sessions.open({ options, mayUse: ({ name }) => name === "*" && allNames });
    const login = session.login(loginNames, { replication: "physical" });
    if (refusal === undefined) await login;
    else await expect(login).rejects.toMatchObject({ code: "denied", message: expect.stringMatching(refusal) });
    const error = refusal && { error: expect.stringMatching(refusal) };
    expect(events).toMatchObject([{ event: "db.session.start", success: refusal === undefined, replication: "physical", ...error }]);
  });

  test("a session that cannot be recorded does not begin: no certificate is asked for, and the server is not reached", async () => {
    let asked = 0;
    const { session } = sessions.open({
      record: () => Promise.reject(full),
      credentials: () => {
        asked += 1;
        return Promise.reject(new Error("not asked for"));
      },
    });
    await expect(session.login(loginNames)).rejects.toBe(full);
    expect([session.grant, asked]).toEqual([undefined, 0]);
    await session.close(full);
  });

  test("two logins on one session: the second one is a bug of the engine, also while the first is being decided, and changes nothing", async () => {
    let judged = 0;
    const grant = sessions.granted();
    const judge = async () => {
      judged += 1;
      return grant;
    };
    const { session, events } = sessions.open({ judge });
    const [first, second] = await Promise.allSettled([session.login(loginNames), session.login({ user: "root", name: "shop" })]);
    expect([first.status, second.status]).toEqual(["fulfilled", "rejected"]);
    await expect(session.login(loginNames)).rejects.toThrow("a session logs in once");
    await session.close(undefined);
    expect(judged).toBe(1);
    expect(events).toMatchObject([
      { event: "db.session.start", db_user: "reader" },
      { event: "db.session.end", db_user: "reader" },
    ]);
  });

  test("the loss of the connection that the user may have ends the session", async () => {
    let lose: (why: PlatformError) => void = () => {};
    const onLost = (listener: (why: PlatformError) => void): void => {
      lose = listener;
    };
    const { session } = sessions.open({ lease: async () => ({ onLost, release: async () => {} }) });
    await session.login(loginNames);
    expect(session.signal.aborted).toBe(false);
    lose(full);
    expect(session.signal.reason).toBe(full);
    await session.close(undefined);
  });

  test("a refused login is recorded with its reason, and is not tried again", async () => {
    const { session, events } = sessions.open({ judge: () => Promise.reject(new PlatformError("denied", "no role lists this database user")) });
    await expect(session.login(loginNames)).rejects.toMatchObject({ code: "denied" });
    await expect(session.login({ user: "other" })).rejects.toThrow("a session logs in once");
    await session.close(undefined);
    expect(events).toMatchObject([{ event: "db.session.start", success: false, error: "no role lists this database user", db_user: "reader" }]);
  });

  test.for([undefined, ""])("without an account (%j) there is no login: it would be any account", async (user) => {
    const { session, events } = sessions.open();
    await expect(session.login({ user, name: "shop" })).rejects.toMatchObject({ code: "invalid", hint: "state one: --db-user=NAME" });
    expect(events).toMatchObject([{ event: "db.session.start", success: false, db_user: "" }]);
    await session.close(undefined);
  });

  describe("has its time", () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
    afterEach(() => void vi.useRealTimers());

    test("a client that never logs in is cut after 30 seconds, whatever its engine does; nothing of a session is recorded", async () => {
      const { session, events } = sessions.open();
      vi.advanceTimersByTime(29_999);
      expect(session.signal.aborted).toBe(false);
      vi.advanceTimersByTime(1);
      expect(session.signal.reason).toMatchObject({
        code: "timeout",
        message: expect.stringContaining("did not log in to the database within 30 seconds"),
      });
      await expect(session.login(loginNames)).rejects.toMatchObject({ code: "timeout" });
      await expect(session.reach()).rejects.toMatchObject({ code: "timeout" });
      await session.close(undefined);
      expect(events).toMatchObject([{ event: "db.session.start", success: false }]);
    });

    test("after the login there is no such limit", async () => {
      const { session } = sessions.open();
      await session.login(loginNames);
      vi.advanceTimersByTime(3_600_000);
      expect(session.signal.aborted).toBe(false);
      await session.close(undefined);
      expect(vi.getTimerCount()).toBe(0);
    });

    test("a login that is still being decided when the time is up does not begin a session", async () => {
      const decision = Promise.withResolvers<ServedGrant<"db">>();
      const { session, events } = sessions.open({ judge: () => decision.promise });
      const login = session.login(loginNames);
      login.catch(() => {});
      vi.advanceTimersByTime(30_000);
      decision.resolve(sessions.granted());
      await expect(login).rejects.toMatchObject({ code: "timeout" });
      expect(session.grant).toBeUndefined();
      await session.close(undefined);
      expect(events).toMatchObject([{ event: "db.session.start", success: false }]);
    });

    test("which leaves no timer when the session ends before", async () => {
      const { session } = sessions.open();
      expect(vi.getTimerCount()).toBe(1);
      await session.close(undefined);
      expect(vi.getTimerCount()).toBe(0);
    });

    test("and so have the rules that it brings, which end with the session", async () => {
      const { session } = sessions.open({ options: { client_idle_timeout: "1h" } });
      await session.login(loginNames);
      expect(vi.getTimerCount()).toBeGreaterThan(0);
      await session.close(undefined);
      expect(vi.getTimerCount()).toBe(0);
    });
  });
});
