import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { lockOf } from "../../../test/inside/database-user.ts";
import { loginNames, type TestSessions, testSessions } from "./testing/test-sessions.ts";

describe("a session of a database", () => {
  let sessions: TestSessions;
  beforeAll(async () => {
    sessions = await testSessions();
  });
  afterAll(async () => await sessions?.[Symbol.asyncDispose]());

  test("a lock ends it, and a refusal of the certificate leaves a start and an end", async () => {
    const { session, events, lock } = sessions.open({ credentials: () => Promise.reject(new PlatformError("denied", "user alice was removed")) });
    await expect(session.login(loginNames)).rejects.toMatchObject({ code: "denied" });
    lock([lockOf("alice")]);
    expect(session.signal.reason).toMatchObject({ code: "denied", message: expect.stringContaining("locked") });
    await session.close(new PlatformError("denied", "user alice was removed"));
    expect(events).toMatchObject([
      { event: "db.session.start", success: true },
      { event: "db.session.end", reason: "user alice was removed" },
    ]);
  });

  test("client_idle_timeout ends it", async () => {
    const { session } = sessions.open({ options: { client_idle_timeout: "1s" } });
    await session.login(loginNames);
    session.touch();
    await expect.poll(() => session.signal.aborted, { timeout: 5_000 }).toBe(true);
    expect(session.signal.reason).toMatchObject({ code: "timeout", message: expect.stringContaining("no activity") });
    await session.close(undefined);
  });

  test("its connections to servers end with it, also those that its engine has forgotten; later it opens none", async () => {
    const { session } = sessions.open();
    const early = await session.reach();
    const access = await session.login(loginNames);
    const late = await access.dial();
    expect([early.destroyed, late.destroyed]).toEqual([false, false]);
    await session.close(undefined);
    expect([early.destroyed, late.destroyed]).toEqual([true, true]);
    await expect(access.dial()).rejects.toMatchObject({ code: "unavailable" });
  });

  test("mayUse asks about the account that logged in", async () => {
    const asked: unknown[] = [];
    const mayUse = (one: unknown): boolean => asked.push(one) > 0;
    const { session } = sessions.open({ mayUse });
    await session.login(loginNames);
    session.mayUse("stock");
    expect(asked).toEqual([{ user: "reader", name: "stock" }]);
    await session.close(undefined);
  });
});
