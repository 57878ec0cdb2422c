import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { DbDeps } from "../database.ts";
import { loginNames, type TestSessions, testSessions } from "./testing/test-sessions.ts";

const full = new PlatformError("limit", "this host cannot record sessions right now");

describe("a session of a database", () => {
  let sessions: TestSessions;
  beforeAll(async () => {
    sessions = await testSessions();
  });
  afterAll(async () => await sessions?.[Symbol.asyncDispose]());

  const statement = { event: "db.session.query", success: true, db_query: "select 1" } as const;

  /** A host whose recordings begin, or fail, as `begin` says. */
  function recordingsOf(begin: () => Promise<never>): ReturnType<typeof vi.fn> & DbDeps["recordings"]["begin"] {
    return vi.fn(begin) as never;
  }

  test.for(["node", "node-sync", "proxy", "proxy-sync"] as const)(
    "is recorded here in mode %s, as a proxy sees ciphertext",
    async (sessionRecording) => {
      const begin = recordingsOf(() => Promise.reject(full));
      const { session, events } = sessions.open({ sessionRecording, recordings: { begin, keep: () => false, sendNow: async () => {} } });
      const isSync = sessionRecording.endsWith("-sync");
      const login = session.login(loginNames);
      if (isSync) await expect(login).rejects.toThrow("sessions on this host must be recorded, and this one cannot be");
      else await login;
      session.statements?.begin(statement)({ outcome: "ok" });
      await session.close(undefined);
      expect(begin).toHaveBeenCalledOnce();
      const facts = { kind: "db", resource: "orders", format: "statements", user: "alice", server_name: "db-1" };
      expect(begin).toHaveBeenCalledWith(expect.objectContaining({ facts: expect.objectContaining(facts) }));
      const failed = { event: "session.recording.failed", sid: "s-1", kind: "db", resource: "orders", reason: full.message };
      expect(events).toContainEqual(expect.objectContaining(failed));
      expect(events).toContainEqual(expect.objectContaining({ event: "db.session.start", success: !isSync }));
    },
  );

  test("with record_session: strict ends when its recording fails, and does not begin without one", async () => {
    const begin = recordingsOf(() => Promise.reject(full));
    const options = { record_session: { default: "strict" } } as const;
    const { session, events } = sessions.open({
      sessionRecording: "node",
      options,
      recordings: { begin, keep: () => false, sendNow: async () => {} },
    });
    await expect(session.login(loginNames)).rejects.toThrow("must be recorded");
    expect(session.grant).toBeUndefined();
    await session.close(undefined);
    expect(events).toMatchObject([{ event: "session.recording.failed" }, { event: "db.session.start", success: false }]);
  });

  test("is not recorded in mode off", async () => {
    const { session } = sessions.open({ sessionRecording: "off" });
    await session.login(loginNames);
    expect(session.statements).toBeUndefined();
    await session.close(undefined);
  });

  test("has nothing before its login", async () => {
    const { session } = sessions.open({ sessionRecording: "node" });
    expect(session.statements).toBeUndefined();
    await session.close(undefined);
  });
});
