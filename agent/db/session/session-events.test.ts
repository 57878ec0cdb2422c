import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuditFacts } from "../../../core/audit/audit-events.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { loginNames, type TestSessions, testSessions } from "./testing/test-sessions.ts";

const full = new PlatformError("limit", "this host cannot record sessions right now");

describe("a session of a database", () => {
  let sessions: TestSessions;
  beforeAll(async () => {
    sessions = await testSessions();
  });
  afterAll(async () => await sessions?.[Symbol.asyncDispose]());

  test("from its login to its end, with everything that the summary counts", async () => {
    const { session, events } = sessions.open();
    expect(session.grant).toBeUndefined();
    const access = await session.login(loginNames, { userAgent: "psql", settings: ["role=admin"] });
    expect(access.user).toBe("reader");
    expect(session.record({ event: "db.session.query", success: true, db_query: "select 1" })).toBeUndefined();
    session.count({ received: 5 });
    session.count({ received: 1, transmitted: 7 });
    await session.close(new PlatformError("unavailable", "the server is gone"));
    const common = {
      user: "alice",
      sid: "s-1",
      db_service: "orders",
      db_user: "reader",
      db_name: "shop",
      server_name: "db-1",
      db_labels: { env: "test" },
      db_origin: "static",
    };
    expect(events).toMatchObject([
      { event: "db.session.start", success: true, user_agent: "psql", settings: ["role=admin"], "addr.remote": "192.0.2.7:40000", ...common },
      { event: "db.session.query", db_query: "select 1", ...common },
      { event: "db.session.end", bytes_received: 6, bytes_transmitted: 7, queries: 1, reason: "the server is gone", ...common },
    ]);
  });

  test("its queries wait for their events with strict alone, and those for no others", async () => {
    for (const strict of [true, false]) {
      const patience: unknown[] = [];
      const record = async (_facts: AuditFacts, options?: { readonly mass?: { readonly patienceMs: number } }): Promise<void> => {
        if (options?.mass !== undefined) patience.push(options.mass.patienceMs);
      };
      const { session } = sessions.open({ record, ...(strict && { options: { record_session: { default: "strict" } } }) });
      await session.login(loginNames);
      const taken = session.record({ event: "db.session.query", success: true, db_query: "select 1" });
      expect(taken === undefined).toBe(!strict);
      await taken;
      await session.close(undefined);
      expect(patience).toEqual([strict ? 0 : 10]);
    }
  });

  test("the summary says how many queries have events but did not go on, where they wait for these, and which process served it", async () => {
    for (const [strict, received, unsent] of [
      [true, 0, 2],
      [true, 9, 1],
      [false, 0, undefined],
    ] as const) {
      const { session, events } = sessions.open(strict ? { options: { record_session: { default: "strict" } } } : {});
      await session.login(loginNames);
      session.servedBy(4_711);
      await session.record({ event: "db.session.query", success: true, db_query: "select 1" });
      session.count({ received });
      await session.record({ event: "db.session.query", success: true, db_query: "select 2" });
      await session.close(undefined);
      const end = events.find(({ event }) => event === "db.session.end");
      expect(end).toMatchObject({ queries: 2, postgres_pid: 4_711 });
      expect(end !== undefined && Reflect.get(end, "queries_unsent")).toBe(unsent);
    }
  });

  describe("whose later events cannot be kept", () => {
    const record = async (facts: AuditFacts): Promise<void> => {
      if (facts.event === "db.session.query") throw full;
    };
    const query = { event: "db.session.query", success: true, db_query: "select 1" } as const;

    test("goes on with best_effort", async () => {
      const { session } = sessions.open({ record });
      await session.login(loginNames);
      expect(session.record(query)).toBeUndefined();
      await new Promise(setImmediate);
      expect(session.signal.aborted).toBe(false);
      expect(session.record(query)).toBeUndefined();
      await session.close(undefined);
    });

    test("ends with strict, though the engine waits for nothing", async () => {
      const { session } = sessions.open({ record, options: { record_session: { default: "strict" } } });
      await session.login(loginNames);
      void session.record(query);
      await expect.poll(() => session.signal.aborted).toBe(true);
      expect(session.signal.reason).toMatchObject({ code: "unavailable", message: expect.stringContaining("record_session: strict") });
      await expect(session.record(query)).rejects.toBe(session.signal.reason);
      await session.close(undefined);
    });
  });
});
