import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { decodeSessionProof, isProven } from "../../core/identity/session-proof.ts";
import type { Lock } from "../../core/resources/lock.ts";
import { lockOf } from "../../test/inside/database-user.ts";
import type { Access } from "../access/access-source.ts";
import type { DbDeps } from "./database.ts";
import { type DbStreams, dbStreams, reply, request, text } from "./testing/db-streams.ts";

describe("a stream to a database", () => {
  let streams: DbStreams;
  beforeAll(async () => {
    streams = await dbStreams();
  });
  afterAll(async () => await streams?.[Symbol.asyncDispose]());
  afterEach(() => void vi.useRealTimers());

  test("the user's account is in the certificate that the server sees; start and end are recorded", async () => {
    const { near, served, events, certified, logins } = await streams.serve();
    const tls = await streams.enter(near, streams.alice);
    expect(await reply(tls)).toEqual({ ok: true });
    tls.write("*1\r\n$4\r\nPING\r\n");
    expect(await text(tls)).toBe("+PONG\r\n");
    expect(logins()).toBe(1);
    tls.end();
    await served;
    expect(certified).toMatchObject([{ database: "orders", account: "reader", clientAddress: "192.0.2.7:40000" }]);
    expect(events.map(({ event }) => event)).toEqual(["db.session.start", "db.session.query", "db.session.end"]);
    expect(events.at(-1)).toMatchObject({ user: "alice", sid: "s-1", db_user: "reader", db_name: "0", queries: 1 });
    await expect.poll(() => streams.upstream.size).toBe(0);
  });

  test("a certificate for this database only is enough", async () => {
    const { near, served } = await streams.serve();
    const tls = await streams.enter(near, await streams.own.user("alice", { route: { kind: "db", name: "orders" } }));
    expect(await reply(tls)).toEqual({ ok: true });
    tls.destroy();
    await served;
  });

  test("through a proxy's port: for exactly the account of its certificate, until the user's own ends; events say which proxy", async () => {
    const by = "2b0f3a5e-5d3c-4d1c-9f5e-0f6d2f1b7a11";
    const relayed = { by, until: new Date(Date.now() + 7_200_000).toISOString() };
    const limited = async (account: string) => await streams.own.user("alice", { relayed, route: { kind: "db", name: "orders", account } });
    const { near, served, events } = await streams.serve();
    const tls = await streams.enter(near, await limited("reader"));
    expect(await reply(tls)).toEqual({ ok: true });
    tls.write("*1\r\n$4\r\nPING\r\n");
    expect(await text(tls)).toBe("+PONG\r\n");
    tls.end();
    await served;
    expect(events.map((event) => [event.event, (event as { relayed_by?: string }).relayed_by])).toEqual([
      ["db.session.start", by],
      ["db.session.query", by],
      ["db.session.end", by],
    ]);
    const { answer } = await streams.refusal(await limited("writer"));
    expect(answer).toMatchObject({ ok: false, error: { code: "denied", message: expect.stringContaining("as writer") } });
    const whole = await streams.refusal(await streams.own.user("alice", { relayed }));
    expect(whole.answer).toMatchObject({ ok: false, error: { code: "unauthenticated" } });
  });

  test("the user's proof of this session comes with the question for the certificate", async () => {
    const { near, served, certified } = await streams.serve();
    const tls = await streams.enter(near, streams.alice);
    expect(await reply(tls)).toEqual({ ok: true });
    tls.write("*1\r\n$4\r\nPING\r\n");
    expect(await text(tls)).toBe("+PONG\r\n");
    tls.end();
    await served;
    const proof = decodeSessionProof(certified[0]?.proof ?? Buffer.alloc(0));
    const session = { cluster: streams.own.cluster, hostId: streams.credentials.hostId, database: "orders" };
    expect(proof.account).toBe("reader");
    expect(isProven(session, new X509Certificate(streams.alice.tlsCertificate).raw, proof)).toBe(true);
  });

  test("a database that is not offered is not found, before any byte of the client's", async () => {
    const { served } = await streams.serve({ asked: { ...request, target: "nothing" } });
    await expect(served).rejects.toMatchObject({ code: "not_found" });
  });

  test("a lock between the greeting and the login: the protocol's own refusal, and no certificate", async () => {
    const asked = { ...request, parameters: { ...request.parameters, user: "" } };
    const locks: Lock[] = [];
    const { near, served, events, certified } = await streams.serve({ asked, access: { locks } });
    const tls = await streams.enter(near, streams.alice, asked);
    expect(await reply(tls)).toEqual({ ok: true });
    locks.push(lockOf("alice"));
    tls.write("*3\r\n$4\r\nAUTH\r\n$6\r\nreader\r\n$1\r\nx\r\n");
    expect(await text(tls)).toMatch(/^-\w+ .*locked/);
    tls.destroy();
    await served;
    expect(certified).toEqual([]);
    expect(events).toMatchObject([{ event: "db.session.start", success: false, db_user: "reader" }]);
  });

  test("a client that says nothing after the greeting is gone after 30 seconds", async () => {
    const asked = { ...request, parameters: { ...request.parameters, user: "" } };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { near, served, events, certified, logins } = await streams.serve({ asked });
    const tls = await streams.enter(near, streams.alice, asked);
    expect(await reply(tls)).toEqual({ ok: true });
    const closed = once(tls.resume(), "close");
    await expect
      .poll(() => {
        vi.advanceTimersByTime(10_000);
        return tls.readableEnded;
      })
      .toBe(true);
    tls.destroy();
    await closed;
    await vi.advanceTimersByTimeAsync(10_000);
    await served;
    expect([certified, logins(), events]).toEqual([[], 0, []]);
  });

  test("a session that cannot be recorded does not begin: the protocol says so", async () => {
    const { near, served, certified } = await streams.serve({ record: () => Promise.reject(new PlatformError("limit", "the disk is full")) });
    const tls = await streams.enter(near, streams.alice);
    expect(await reply(tls)).toEqual({ ok: true });
    // The engine's refusal is the answer to a command.
    tls.write("*1\r\n$4\r\nPING\r\n");
    expect(await text(tls)).toContain("the disk is full");
    tls.destroy();
    await served;
    expect([certified, streams.upstream.size]).toEqual([[], 0]);
  });

  test("a lock that comes later ends both connections, with the reason in the summary", async () => {
    let lock: (locks: readonly Lock[]) => void = () => {};
    const follow: DbDeps["access"]["follow"] = (listener) => {
      lock = (locks) => listener({ locks } as Access);
    };
    const { near, served, events } = await streams.serve({ follow });
    const tls = await streams.enter(near, streams.alice);
    await reply(tls);
    tls.write("*1\r\n$4\r\nPING\r\n");
    expect(await text(tls)).toBe("+PONG\r\n");
    lock([lockOf("alice")]);
    tls.resume();
    await served;
    expect(events.at(-1)).toMatchObject({ event: "db.session.end", reason: expect.stringMatching(/locked/) });
    await expect.poll(() => streams.upstream.size).toBe(0);
  });
});
