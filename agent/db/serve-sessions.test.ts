import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../core/identity/identity.ts";
import type { Lock } from "../../core/resources/lock.ts";
import { alpn } from "../../core/transport/alpn.ts";
import { agentHost, beginServed, reachAgent } from "../../core/transport/enter-served.ts";
import { Multiplexer } from "../../core/transport/multiplex/multiplexer.ts";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import { lockOf } from "../../test/inside/database-user.ts";
import type { StreamLife } from "../service/service.ts";
import { type DbStreams, dbStreams, reply, request, type StreamOptions, text } from "./testing/db-streams.ts";

const life: StreamLife = { signal: new AbortController().signal, established: () => {} };
const ping = Buffer.from("*1\r\n$4\r\nPING\r\n");

describe("sessions that share a connection", () => {
  let streams: DbStreams;
  beforeAll(async () => {
    streams = await dbStreams();
  });
  afterAll(async () => await streams?.[Symbol.asyncDispose]());

  /** A connection of alice, and what begins a session on it. */
  async function connection(options: StreamOptions = {}) {
    const served = await streams.serve({ within: () => life, ...options });
    const user = { certificate: streams.alice.tlsCertificate, privateKey: streams.alice.tlsPrivateKey };
    expect(await reply(served.near)).toEqual({ ok: true });
    const entry = { request, user, hostCaPem: [streams.own.hostCaPem] };
    const tls = await reachAgent(served.near, entry, [alpn.serviceStreams, alpn.service]);
    expect(tls.alpnProtocol).toBe(alpn.serviceStreams);
    const many = new Multiplexer(tls, { most: 32 });
    const host: HostIdentity = agentHost(tls);
    const begin = async (first: Buffer = ping, asked: StreamRequest<"db"> = request) => {
      const stream = many.open();
      await beginServed(stream, { request: asked, user }, host, first);
      return stream;
    };
    return { ...served, many, begin };
  }

  test("each has its own start, queries and end, and the end of one leaves the others", async () => {
    const { many, begin, events, served, logins } = await connection();
    const sessions = await Promise.all([begin(), begin(), begin()]);
    for (const one of sessions) expect(await text(one)).toBe("+PONG\r\n");
    expect(logins()).toBe(3);
    const [first, ...others] = sessions;
    first?.end();
    await once(first?.resume() ?? many.open(), "close");
    for (const one of others) {
      one.write(ping);
      expect(await text(one)).toBe("+PONG\r\n");
    }
    many.close();
    await served;
    const ids = events.flatMap((event) => (event.event === "db.session.end" ? [event.sid] : []));
    expect(new Set(ids).size).toBe(3);
    expect(ids).toContain("s-1");
    expect(events.filter(({ event }) => event === "db.session.start").length).toBe(3);
    await expect.poll(() => streams.upstream.size).toBe(0);
  });

  test("the agent decides again for each: one that begins after a lock is refused, and recorded", async () => {
    const locks: Lock[] = [];
    const { begin, many, events } = await connection({ access: { locks } });
    const first = await begin();
    expect(await text(first)).toBe("+PONG\r\n");
    locks.push(lockOf("alice"));
    await expect(begin()).rejects.toMatchObject({ code: "denied" });
    expect(events.at(-1)).toMatchObject({ event: "auth", error: expect.stringContaining("locked"), db_service: "orders" });
    many.close();
  });

  test.each([
    ["another account", { ...request, parameters: { ...request.parameters, user: "admin" } }],
    ["another database", { ...request, target: "payroll" }],
  ] as const)("one cannot ask for %s than the proxy has allowed", async (_, asked) => {
    const { begin, many } = await connection();
    await begin();
    await expect(begin(ping, asked)).rejects.toMatchObject({ code: "denied" });
    many.close();
  });

  test("one without a proof is refused; the others go on", async () => {
    const { begin, many } = await connection();
    const first = await begin();
    expect(await text(first)).toBe("+PONG\r\n");
    const bare = many.open();
    bare.write(Buffer.concat([Buffer.from([0, 0, 0, 2, 1, 1]), ping]));
    expect(await reply(bare)).toMatchObject({ ok: false, error: { code: "unsupported" } });
    first.write(ping);
    expect(await text(first)).toBe("+PONG\r\n");
    many.close();
  });

  test("a user whose connections are counted gets one session on each", async () => {
    const { begin, many } = await connection({ role: { options: { max_connections: 3 } } });
    await begin();
    await expect.poll(() => many.hasRoom).toBe(false);
    many.close();
  });

  test("while the agent does not reach the database, the next session is sent to a new connection", async () => {
    let isUnhealthy = true;
    const { begin, many } = await connection({ isUnhealthy: () => isUnhealthy });
    expect(await text(await begin())).toBe("+PONG\r\n");
    await expect(begin()).rejects.toMatchObject({ code: "unavailable" });
    isUnhealthy = false;
    expect(await text(await begin())).toBe("+PONG\r\n");
    many.close();
  });

  test("an agent that is stopping, or at its limit, takes no further session", async () => {
    let isStopping = false;
    const within = (): StreamLife => {
      if (isStopping) throw new PlatformError("unavailable", "the agent on this host is stopping");
      return life;
    };
    const { begin, many } = await connection({ within });
    const first = await begin();
    expect(await text(first)).toBe("+PONG\r\n");
    isStopping = true;
    await expect(begin()).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("stopping") });
    first.write(ping);
    expect(await text(first)).toBe("+PONG\r\n");
    many.close();
  });

  test("a client that knows one session to a connection is served as before", async () => {
    const { near, served } = await streams.serve({ within: () => life });
    const tls = await streams.enter(near, streams.alice);
    expect(await reply(tls)).toEqual({ ok: true });
    tls.write(ping);
    expect(await text(tls)).toBe("+PONG\r\n");
    tls.end();
    await served;
  });

  test("a peer that breaks the protocol of the connection ends its sessions, and nobody else's", async () => {
    const [one, other] = [await connection(), await connection()];
    const [cut, kept] = [await one.begin(), await other.begin()];
    expect(await text(cut)).toBe("+PONG\r\n");
    expect(await text(kept)).toBe("+PONG\r\n");
    const closed = once(cut, "close");
    one.near.destroy();
    await closed;
    await one.served;
    kept.write(ping);
    expect(await text(kept)).toBe("+PONG\r\n");
    other.many.close();
  });
});
