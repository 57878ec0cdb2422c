import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { roleSchema } from "../../../core/resources/role.ts";
import type { DbSessionFacts } from "../session/session-facts.ts";
import { type OpenedSession, type SessionOptions, type TestSessions, testSessions } from "../session/testing/test-sessions.ts";

const names = { user: "alice", name: "shop" };
const spec = { options: { create_db_user_mode: "keep" }, allow: { db_labels: { env: "test" }, db_names: ["shop"], db_roles: ["readers"] } };
const role = roleSchema.parse({ kind: "role", version: "v7", metadata: { name: "access" }, spec });

describe("a session with an account that the agent makes", () => {
  let sessions: TestSessions;
  beforeAll(async () => {
    sessions = await testSessions();
  });
  afterAll(async () => await sessions?.[Symbol.asyncDispose]());

  function open(facts: Partial<DbSessionFacts>, order: string[], record?: SessionOptions["record"]): OpenedSession {
    return sessions.open({
      judge: async () => sessions.granted({}, { role, names }),
      credentials: async () => {
        order.push("credentials");
        return { certificate: "", privateKey: "", authorities: [] };
      },
      ownAccount: async ({ account }, note) => {
        order.push(`made with ${account?.roles.join()}`);
        await note({ event: "db.session.user.create", username: "alice", roles: [], success: true });
        return { release: async () => void order.push("released") };
      },
      record,
      ...facts,
    });
  }

  test("it is there before the session begins, and released once at its end; its events belong to the session", async () => {
    const order: string[] = [];
    const { session, events } = open({}, order);
    await session.login(names);
    await session.close(undefined);
    expect(order).toEqual(["made with readers", "credentials", "released"]);
    const common = { user: "alice", sid: "s-1", db_service: "orders", db_user: "alice", db_name: "shop" };
    expect(events).toMatchObject([
      { event: "db.session.user.create", ...common },
      { event: "db.session.start", success: true, ...common },
      { event: "db.session.end", ...common },
    ]);
  });

  test("without it there is no session, and the refusal is recorded", async () => {
    const { session, events } = open({ ownAccount: () => Promise.reject(new PlatformError("denied", "it is there already")) }, []);
    await expect(session.login(names)).rejects.toMatchObject({ code: "denied" });
    await session.close(undefined);
    expect(events).toMatchObject([{ event: "db.session.start", success: false, error: "it is there already" }]);
  });

  test("a session that cannot be recorded, and one that was ended meanwhile, release it", async () => {
    const full = new PlatformError("limit", "no room");
    const order: string[] = [];
    const unrecorded = open({}, order, () => Promise.reject(full));
    await expect(unrecorded.session.login(names)).rejects.toBe(full);
    await unrecorded.session.close(undefined);
    expect(order).toEqual(["made with readers", "released"]);
    const over = new AbortController();
    const ended: string[] = [];
    const ownAccount = async () => {
      over.abort(new PlatformError("denied", "locked"));
      return { release: async () => void ended.push("released") };
    };
    const cut = open({ signal: over.signal, ownAccount }, ended);
    await expect(cut.session.login(names)).rejects.toMatchObject({ message: "locked" });
    await cut.session.close(undefined);
    expect(ended).toEqual(["released"]);
  });
});
