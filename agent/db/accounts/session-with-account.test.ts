import { PassThrough } from "node:stream";
import { beforeAll, describe, expect, test } from "vitest";
import { authorize, type ServedGrant } from "../../../core/access/authorize.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { roleSchema } from "../../../core/resources/role.ts";
import { type InsideAuthorities, insideAuthorities } from "../../../test/inside/authorities.ts";
import { testDatabase } from "../../../test/inside/database-user.ts";
import { serviceDeps } from "../../../test/inside/service-deps.ts";
import type { DbDeps } from "../database.ts";
import { DbSession, type DbSessionFacts } from "../db-session.ts";

const names = { user: "alice", name: "shop" };

describe("a session with an account that the agent makes", () => {
  let own: InsideAuthorities;
  let credentials: Awaited<ReturnType<InsideAuthorities["host"]>>;
  beforeAll(async () => {
    own = await insideAuthorities();
    credentials = await own.host("db-1");
  });

  function granted(): ServedGrant<"db"> {
    const spec = { options: { create_db_user_mode: "keep" }, allow: { db_labels: { env: "test" }, db_names: ["shop"], db_roles: ["readers"] } };
    const identity = { kind: "user", name: "alice", roles: ["access"], traits: {}, principals: {}, cluster: own.cluster } as const;
    const served = { name: "orders", labels: { env: "test" } };
    return authorize({
      identity: { ...identity, validBefore: new Date(Date.now() + 3_600_000) },
      roles: [roleSchema.parse({ kind: "role", version: "v7", metadata: { name: "access" }, spec })],
      locks: [],
      ask: { kind: "db", served, names, serverId: credentials.hostId, makesAccounts: true },
      now: new Date(),
    });
  }

  function open(facts: Partial<DbSessionFacts>, order: string[], record?: DbDeps["audit"]["record"]) {
    const service = serviceDeps({ authorities: own, credentials, node: { name: "db-1", labels: {} }, record });
    const deps: DbDeps = { ...service.deps, findDatabase: () => undefined, serverCredentials: () => Promise.reject(new Error("not here")) };
    const session = new DbSession(
      {
        client: new PassThrough(),
        database: testDatabase("postgres", 1),
        asked: {},
        sid: "s-1",
        user: "alice",
        clientAddress: "192.0.2.7:40000",
        signal: new AbortController().signal,
        sessionRecording: "off",
        judge: async () => granted(),
        mayUse: () => true,
        reachedAt: undefined,
        lease: async () => undefined,
        credentials: async () => {
          order.push("credentials");
          return { certificate: "", privateKey: "", authorities: [] };
        },
        ownAccount: async ({ account }, note) => {
          order.push(`made with ${account?.roles.join()}`);
          await note({ event: "db.session.user.create", username: "alice", roles: [], success: true });
          return { release: async () => void order.push("released") };
        },
        ...facts,
      },
      deps,
    );
    return { session, events: service.events };
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
