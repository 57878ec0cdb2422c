import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { PassThrough } from "node:stream";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { ServedGrant } from "../../core/access/authorize.ts";
import type { AuditFacts } from "../../core/audit/audit-events.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Lock } from "../../core/resources/lock.ts";
import type { RoleOptions } from "../../core/resources/role.ts";
import { type InsideAuthorities, insideAuthorities } from "../../test/inside/authorities.ts";
import { databaseRole, lockOf, testDatabase } from "../../test/inside/database-user.ts";
import { serviceDeps } from "../../test/inside/service-deps.ts";
import type { Access } from "../access/access-source.ts";
import type { DbDeps } from "./database.ts";
import { DbSession, type DbSessionFacts } from "./db-session.ts";

const names = { user: "reader", name: "shop" };
const full = new PlatformError("limit", "this host cannot record sessions right now");

describe("a session of a database", () => {
  let own: InsideAuthorities;
  let credentials: Awaited<ReturnType<InsideAuthorities["host"]>>;
  let server: Server;
  let port: number;
  beforeAll(async () => {
    own = await insideAuthorities();
    credentials = await own.host("db-1");
    server = createServer((socket) => void socket.on("error", () => {}).resume());
    await once(server.listen(0, "127.0.0.1"), "listening");
    ({ port } = server.address() as AddressInfo);
  });
  afterAll(() => void server?.close());
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  interface Options extends Partial<DbSessionFacts> {
    readonly options?: RoleOptions;
    readonly record?: (facts: AuditFacts) => Promise<void>;
    readonly recordings?: DbDeps["recordings"];
  }

  /** A grant that only `authorize` can make. */
  async function granted(options: RoleOptions): Promise<ServedGrant<"db">> {
    const { authorize } = await import("../../core/access/authorize.ts");
    const identity = {
      kind: "user",
      name: "alice",
      roles: ["access"],
      traits: {},
      principals: {},
      cluster: own.cluster,
      validBefore: new Date(Date.now() + 3_600_000),
    } as const;
    const served = { name: "orders", labels: { env: "test" } };
    const ask = { kind: "db", served, names, serverId: credentials.hostId } as const;
    return authorize({ identity, roles: [databaseRole({ options })], locks: [], ask, now: new Date() });
  }

  async function open({ options = {}, record, recordings, ...facts }: Options = {}) {
    let locked: (locks: readonly Lock[]) => void = () => {};
    const follow: DbDeps["access"]["follow"] = (listener, signal) => {
      locked = (locks) => void (signal.aborted || listener({ locks } as Access));
    };
    const service = serviceDeps({ authorities: own, credentials, node: { name: "db-1", labels: {} }, follow, record });
    const deps: DbDeps = {
      ...service.deps,
      ...(recordings && { recordings }),
      findDatabase: () => undefined,
      serverCredentials: () => Promise.reject(new Error("not here")),
    };
    const grant = await granted(options);
    const session = new DbSession(
      {
        client: new PassThrough(),
        database: testDatabase("postgres", port),
        asked: {},
        sid: "s-1",
        user: "alice",
        clientAddress: "192.0.2.7:40000",
        signal: new AbortController().signal,
        sessionRecording: "off",
        judge: async () => grant,
        mayUse: () => true,
        reachedAt: undefined,
        lease: async () => undefined,
        credentials: async () => ({ certificate: "", privateKey: "", authorities: [] }),
        ...facts,
      },
      deps,
    );
    return { session, events: service.events, lock: (locks: readonly Lock[]) => locked(locks) };
  }

  test("from its login to its end, with everything that the summary counts", async () => {
    const { session, events } = await open();
    expect(session.grant).toBeUndefined();
    const access = await session.login(names, { userAgent: "psql" });
    expect(access.user).toBe("reader");
    expect(session.record({ event: "db.session.query", success: true, db_query: "select 1" })).toBeUndefined();
    session.count({ received: 5 });
    session.count({ received: 1, transmitted: 7 });
    await session.close(new PlatformError("unavailable", "the server is gone"));
    const common = { user: "alice", sid: "s-1", db_service: "orders", db_user: "reader", db_name: "shop", server_name: "db-1" };
    expect(events).toMatchObject([
      { event: "db.session.start", success: true, user_agent: "psql", "addr.remote": "192.0.2.7:40000", ...common },
      { event: "db.session.query", db_query: "select 1", ...common },
      { event: "db.session.end", bytes_received: 6, bytes_transmitted: 7, queries: 1, reason: "the server is gone", ...common },
    ]);
  });

  test.for<readonly [options: RoleOptions, allNames: boolean, refusal: RegExp | undefined]>([
    [{}, true, /no role allows it, or one forbids it \(db_replication\)/],
    [{ db_replication: false }, true, /no role allows it, or one forbids it/],
    [{ db_replication: true }, false, /they can copy all databases of the server/],
    [{ db_replication: true }, true, undefined],
  ])("replication with the options %j, all database names: %s", async ([options, allNames, refusal]) => {
    const { session, events } = await open({ options, mayUse: ({ name }) => name === "*" && allNames });
    const login = session.login(names, { replication: "physical" });
    if (refusal === undefined) await login;
    else await expect(login).rejects.toMatchObject({ code: "denied", message: expect.stringMatching(refusal) });
    const error = refusal && { error: expect.stringMatching(refusal) };
    expect(events).toMatchObject([{ event: "db.session.start", success: refusal === undefined, replication: "physical", ...error }]);
  });

  test("a client that never logs in is cut after 30 seconds, whatever its engine does; nothing of a session is recorded", async () => {
    const { session, events } = await open();
    vi.advanceTimersByTime(29_999);
    expect(session.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(session.signal.reason).toMatchObject({
      code: "timeout",
      message: expect.stringContaining("did not log in to the database within 30 seconds"),
    });
    await expect(session.login(names)).rejects.toMatchObject({ code: "timeout" });
    await expect(session.reach()).rejects.toMatchObject({ code: "timeout" });
    await session.close(undefined);
    expect(events).toMatchObject([{ event: "db.session.start", success: false }]);
  });

  test("after the login there is no such limit", async () => {
    const { session } = await open();
    await session.login(names);
    vi.advanceTimersByTime(3_600_000);
    expect(session.signal.aborted).toBe(false);
    await session.close(undefined);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a login that is still being decided when the time is up does not begin a session", async () => {
    const decision = Promise.withResolvers<ServedGrant<"db">>();
    const { session, events } = await open({ judge: () => decision.promise });
    const login = session.login(names);
    login.catch(() => {});
    vi.advanceTimersByTime(30_000);
    decision.resolve(await granted({}));
    await expect(login).rejects.toMatchObject({ code: "timeout" });
    expect(session.grant).toBeUndefined();
    await session.close(undefined);
    expect(events).toMatchObject([{ event: "db.session.start", success: false }]);
  });

  test("a session that cannot be recorded does not begin: no certificate is asked for, and the server is not reached", async () => {
    let asked = 0;
    const { session } = await open({
      record: () => Promise.reject(full),
      credentials: () => {
        asked += 1;
        return Promise.reject(new Error("not asked for"));
      },
    });
    await expect(session.login(names)).rejects.toBe(full);
    expect([session.grant, asked]).toEqual([undefined, 0]);
    await session.close(full);
  });

  describe("whose later events cannot be kept", () => {
    const record = async (facts: AuditFacts): Promise<void> => {
      if (facts.event === "db.session.query") throw full;
    };
    const query = { event: "db.session.query", success: true, db_query: "select 1" } as const;

    test("goes on with best_effort", async () => {
      const { session } = await open({ record });
      await session.login(names);
      expect(session.record(query)).toBeUndefined();
      await new Promise(setImmediate);
      expect(session.signal.aborted).toBe(false);
      expect(session.record(query)).toBeUndefined();
      await session.close(undefined);
    });

    test("ends with strict, though the engine waits for nothing", async () => {
      const { session } = await open({ record, options: { record_session: { default: "strict" } } });
      await session.login(names);
      expect(session.record(query)).toBeUndefined();
      await expect.poll(() => session.signal.aborted).toBe(true);
      expect(session.signal.reason).toMatchObject({ code: "unavailable", message: expect.stringContaining("record_session: strict") });
      await expect(session.record(query)).rejects.toBe(session.signal.reason);
      await session.close(undefined);
    });
  });

  test("two logins on one session: the second one is a bug of the engine, also while the first is being decided, and changes nothing", async () => {
    let judged = 0;
    const grant = await granted({});
    const judge = async () => {
      judged += 1;
      return grant;
    };
    const { session, events } = await open({ judge });
    const [first, second] = await Promise.allSettled([session.login(names), session.login({ user: "root", name: "shop" })]);
    expect([first.status, second.status]).toEqual(["fulfilled", "rejected"]);
    await expect(session.login(names)).rejects.toThrow("a session logs in once");
    await session.close(undefined);
    expect(judged).toBe(1);
    expect(events).toMatchObject([
      { event: "db.session.start", db_user: "reader" },
      { event: "db.session.end", db_user: "reader" },
    ]);
  });

  test("a refused login is recorded with its reason, and is not tried again", async () => {
    const { session, events } = await open({ judge: () => Promise.reject(new PlatformError("denied", "no role lists this database user")) });
    await expect(session.login(names)).rejects.toMatchObject({ code: "denied" });
    await expect(session.login({ user: "other" })).rejects.toThrow("a session logs in once");
    await session.close(undefined);
    expect(events).toMatchObject([{ event: "db.session.start", success: false, error: "no role lists this database user", db_user: "reader" }]);
  });

  test.for([undefined, ""])("without an account (%j) there is no login: it would be any account", async (user) => {
    const { session, events } = await open();
    await expect(session.login({ user, name: "shop" })).rejects.toMatchObject({ code: "invalid", hint: "state one: --db-user=NAME" });
    expect(events).toMatchObject([{ event: "db.session.start", success: false, db_user: "" }]);
    await session.close(undefined);
  });

  test("a lock ends it, and a refusal of the certificate leaves a start and an end", async () => {
    const { session, events, lock } = await open({ credentials: () => Promise.reject(new PlatformError("denied", "user alice was removed")) });
    await expect(session.login(names)).rejects.toMatchObject({ code: "denied" });
    lock([lockOf("alice")]);
    expect(session.signal.reason).toMatchObject({ code: "denied", message: expect.stringContaining("locked") });
    await session.close(new PlatformError("denied", "user alice was removed"));
    expect(events).toMatchObject([
      { event: "db.session.start", success: true },
      { event: "db.session.end", reason: "user alice was removed" },
    ]);
  });

  test("client_idle_timeout ends it", async () => {
    vi.useRealTimers();
    const { session } = await open({ options: { client_idle_timeout: "1s" } });
    await session.login(names);
    session.touch();
    await expect.poll(() => session.signal.aborted, { timeout: 5_000 }).toBe(true);
    expect(session.signal.reason).toMatchObject({ code: "timeout", message: expect.stringContaining("no activity") });
    await session.close(undefined);
  });

  test("its connections to servers end with it, also those that its engine has forgotten; later it opens none", async () => {
    const { session } = await open();
    const early = await session.reach();
    const access = await session.login(names);
    const late = await access.dial();
    expect([early.destroyed, late.destroyed]).toEqual([false, false]);
    await session.close(undefined);
    expect([early.destroyed, late.destroyed]).toEqual([true, true]);
    await expect(access.dial()).rejects.toMatchObject({ code: "unavailable" });
  });

  test("mayUse asks about the account that logged in", async () => {
    const asked: unknown[] = [];
    const mayUse = (one: unknown): boolean => asked.push(one) > 0;
    const { session } = await open({ mayUse });
    await session.login(names);
    session.mayUse("stock");
    expect(asked).toEqual([{ user: "reader", name: "stock" }]);
    await session.close(undefined);
  });

  describe("that is recorded", () => {
    const statement = { event: "db.session.query", success: true, db_query: "select 1" } as const;

    /** A host whose recordings begin, or fail, as `begin` says. */
    function recordingsOf(begin: () => Promise<never>): ReturnType<typeof vi.fn> & DbDeps["recordings"]["begin"] {
      return vi.fn(begin) as never;
    }

    test.for(["node", "node-sync", "proxy", "proxy-sync"] as const)(
      "is recorded here in mode %s, as a proxy sees ciphertext",
      async (sessionRecording) => {
        const begin = recordingsOf(() => Promise.reject(full));
        const { session, events } = await open({ sessionRecording, recordings: { begin, sendNow: async () => {} } });
        const isSync = sessionRecording.endsWith("-sync");
        const login = session.login(names);
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
      const { session, events } = await open({ sessionRecording: "node", options, recordings: { begin, sendNow: async () => {} } });
      await expect(session.login(names)).rejects.toThrow("must be recorded");
      expect(session.grant).toBeUndefined();
      await session.close(undefined);
      expect(events).toMatchObject([{ event: "session.recording.failed" }, { event: "db.session.start", success: false }]);
    });

    test("is not recorded in mode off", async () => {
      const { session } = await open({ sessionRecording: "off" });
      await session.login(names);
      expect(session.statements).toBeUndefined();
      await session.close(undefined);
    });

    test("has nothing before its login", async () => {
      const { session } = await open({ sessionRecording: "node" });
      expect(session.statements).toBeUndefined();
      await session.close(undefined);
    });
  });
});
