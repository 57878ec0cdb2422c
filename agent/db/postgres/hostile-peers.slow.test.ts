import { afterEach, describe, expect, test, vi } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { engineSession, type InsideEngineSession } from "../../../test/inside/engine-session.ts";
import { type Cut, pour, type ScriptedServer, scriptedServer } from "../../../test/inside/scripted-server.ts";
import { encodeMessage } from "./error-response.ts";
import { encodeStartup, tlsRequest } from "./first-packet.ts";
import { postgresEngine } from "./serve-postgres.ts";
import { authenticationOk, keyData, parse, query, ready, sync } from "./testing/postgres-bytes.ts";

const startup = encodeStartup({ minor: 0, parameters: [{ name: "user", value: Buffer.from("ann") }] });
const login = Buffer.concat([authenticationOk, keyData(7, Buffer.from("real")), ready]);
const row = encodeMessage("D", Buffer.alloc(60_000, 1));
const notice = encodeMessage("N", Buffer.from(`SNOTICE\0M${"x".repeat(60_000)}\0\0`));
const got = (length: number) => (received: Buffer) => received.length >= length;
/** Maximum bytes that an agent may hold for a peer that reads nothing. */
const held = 1_000_000;

describe("hostile peers of a PostgreSQL session", () => {
  let server: ScriptedServer | undefined;
  let inside: InsideEngineSession | undefined;
  let served: Promise<PlatformError | undefined> | undefined;
  afterEach(async () => {
    vi.useRealTimers();
    inside?.near.destroy();
    await server?.[Symbol.asyncDispose]();
    await served;
  });

  async function start(greeting: Buffer, cut?: Cut) {
    server = await scriptedServer(
      [
        { when: got(tlsRequest.length), send: Buffer.from("S") },
        { when: got(startup.length), send: greeting },
        { when: got(1), send: row.subarray(0, 100) },
      ],
      cut,
    );
    inside = await engineSession({ protocol: "postgres", port: server.port });
    served = postgresEngine()(inside.session);
    return { ...inside, server, served };
  }

  /** A logged-in session; the client reads nothing after it. */
  async function loggedIn() {
    const one = await start(login);
    one.near.write(startup);
    await expect.poll(() => one.near.readableLength).toBeGreaterThanOrEqual(login.length);
    const [upstream] = one.server.sockets;
    const [road] = one.dialled;
    if (upstream === undefined || road === undefined) throw new Error("there is no connection to the server");
    return { ...one, upstream, road, client: one.session.client };
  }

  test("endless notices in place of a login are held back by a client that does not read, and end after 30 seconds", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { near, server: base, session, dialled, served: end } = await start(authenticationOk);
    near.write(startup);
    await expect.poll(() => near.readableLength).toBeGreaterThanOrEqual(authenticationOk.length);
    const [upstream] = base.sockets;
    for (let count = 0; count < 1_000; count += 1) upstream?.write(notice);
    await expect.poll(() => session.client.writableNeedDrain).toBe(true);
    expect(session.client.writableLength + (dialled[0]?.readableLength ?? 0)).toBeLessThan(held);
    await vi.advanceTimersByTimeAsync(30_000);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await end).toMatchObject({ code: "unavailable", message: "the server's login took more than 30 s" });
  });

  test("endless rows for a client that does not read stay at the server", async () => {
    const { near, bytes, upstream, road, client, end, served: over } = await loggedIn();
    near.write(query("select * from big"));
    expect(await pour(upstream, { piece: row, most: 100_000_000, taken: () => bytes.transmitted })).toBeLessThan(100_000_000);
    expect(client.writableLength + road.readableLength).toBeLessThan(held);
    expect(client.destroyed).toBe(false);
    end(new PlatformError("denied", "alice is locked"));
    near.resume();
    expect(await over).toMatchObject({ message: "alice is locked" });
  });

  test.for<readonly [what: string, piece: Buffer]>([
    ["Sync messages", Buffer.concat(Array.from({ length: 10_000 }, () => sync))],
    ["statements, each under a name of its own", Buffer.concat(Array.from({ length: 2_000 }, (_, index) => parse(`s${index}`, "select 1")))],
    ["queries", Buffer.concat(Array.from({ length: 3_000 }, () => query("select 1")))],
  ])("endless %s for a server that does not read stay at the client", async ([, piece]) => {
    const { near, bytes, upstream, road, client, served: over } = await loggedIn();
    upstream.pause();
    expect(await pour(near, { piece, most: 100_000_000, taken: () => bytes.received })).toBeLessThan(100_000_000);
    expect(road.writableLength + client.readableLength).toBeLessThan(held);
    expect(client.destroyed).toBe(false);
    near.destroy();
    upstream.destroy();
    await over;
  });

  test("a server that never answers does not hold a client that leaves", async () => {
    const { near, served: over } = await loggedIn();
    near.end(query("select pg_sleep(1e9)"));
    expect(await over).toBeUndefined();
  });

  test("a server may leave after any byte", async () => {
    const whole = 1 + login.length + 100;
    for (let at = 0; at <= whole; at += 7) {
      const one = await start(login, { at, how: at % 2 === 0 ? "end" : "destroy" });
      let text = "";
      one.near.on("error", () => {}).on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
      one.near.write(startup);
      if (at > login.length) await expect.poll(() => text.length).toBeGreaterThanOrEqual(login.length);
      one.near.write(query("select 1"));
      const reason = await one.served;
      expect(reason, `after ${at} bytes`).toMatchObject({ code: "unavailable" });
      expect(one.session.client.destroyed).toBe(true);
      await one.server[Symbol.asyncDispose]();
    }
  });

  test("a client may leave after any byte", async () => {
    const bytes = Buffer.concat([startup, query("select 1")]);
    for (let at = 0; at <= bytes.length; at += 1) {
      const one = await start(login);
      one.near
        .on("error", () => {})
        .resume()
        .write(bytes.subarray(0, at));
      if (at % 2 === 0) one.near.end();
      else one.near.destroy();
      const reason = await one.served;
      expect(reason === undefined || reason.code !== "internal", `after ${at} bytes`).toBe(true);
      await one.server[Symbol.asyncDispose]();
    }
  });
});
