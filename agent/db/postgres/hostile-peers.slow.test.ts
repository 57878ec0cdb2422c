import { afterEach, describe, expect, test, vi } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import {
  expectClientMayLeave,
  expectStaysAtClient,
  expectStaysAtServer,
  HostilePeers,
  maxHeld,
  roadsOf,
} from "../../../test/inside/hostile-peers.ts";
import type { Cut } from "../../../test/inside/scripted-server.ts";
import { encodeMessage } from "./error-response.ts";
import { encodeStartup, tlsRequest } from "./first-packet.ts";
import { postgresEngine } from "./serve-postgres.ts";
import { authenticationOk, keyData, parse, query, ready, sync } from "./testing/postgres-bytes.ts";

const startup = encodeStartup({ minor: 0, parameters: [{ name: "user", value: Buffer.from("ann") }] });
const login = Buffer.concat([authenticationOk, keyData(7, Buffer.from("real")), ready]);
const row = encodeMessage("D", Buffer.alloc(60_000, 1));
const notice = encodeMessage("N", Buffer.from(`SNOTICE\0M${"x".repeat(60_000)}\0\0`));
const got = (length: number) => (received: Buffer) => received.length >= length;

describe("hostile peers of a PostgreSQL session", () => {
  const peers = new HostilePeers();
  afterEach(async () => {
    vi.useRealTimers();
    await peers.close();
  });

  const start = (greeting: Buffer, cut?: Cut) =>
    peers.open({
      engine: postgresEngine(),
      protocol: "postgres",
      parts: [
        { when: got(tlsRequest.length), send: Buffer.from("S") },
        { when: got(startup.length), send: greeting },
        { when: got(1), send: row.subarray(0, 100) },
      ],
      cut,
    });

  /** A logged-in session; the client reads nothing after it. */
  async function loggedIn() {
    const one = await start(login);
    one.near.write(startup);
    await expect.poll(() => one.near.readableLength).toBeGreaterThanOrEqual(login.length);
    return one;
  }

  test("endless notices in place of a login are held back by a client that does not read, and end after 30 seconds", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { near, server: base, session, dialled, ended: end } = await start(authenticationOk);
    near.write(startup);
    await expect.poll(() => near.readableLength).toBeGreaterThanOrEqual(authenticationOk.length);
    const [upstream] = base.sockets;
    for (let count = 0; count < 1_000; count += 1) upstream?.write(notice);
    await expect.poll(() => session.client.writableNeedDrain).toBe(true);
    expect(session.client.writableLength + (dialled[0]?.readableLength ?? 0)).toBeLessThan(maxHeld);
    await vi.advanceTimersByTimeAsync(30_000);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await end).toMatchObject({ code: "unavailable", message: "the server's login took more than 30 s" });
  });

  test("endless rows for a client that does not read stay at the server", async () => {
    const one = await loggedIn();
    one.near.write(query("select * from big"));
    await expectStaysAtServer(one, row);
    one.end(new PlatformError("denied", "alice is locked"));
    one.near.resume();
    expect(await one.ended).toMatchObject({ message: "alice is locked" });
  });

  test.for<readonly [what: string, piece: Buffer]>([
    ["Sync messages", Buffer.concat(Array.from({ length: 10_000 }, () => sync))],
    ["statements, each under a name of its own", Buffer.concat(Array.from({ length: 2_000 }, (_, index) => parse(`s${index}`, "select 1")))],
    ["queries", Buffer.concat(Array.from({ length: 3_000 }, () => query("select 1")))],
  ])("endless %s for a server that does not read stay at the client", async ([, piece]) => {
    const one = await loggedIn();
    roadsOf(one).upstream.pause();
    await expectStaysAtClient(one, piece);
  });

  test("a server that never answers does not hold a client that leaves", async () => {
    const { near, ended: over } = await loggedIn();
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
      expect(await one.ended, `after ${at} bytes`).toMatchObject({ code: "unavailable" });
      expect(one.session.client.destroyed).toBe(true);
      await peers.close();
    }
  });

  test("a client may leave after any byte", async () => {
    await expectClientMayLeave(peers, { open: () => start(login), bytes: Buffer.concat([startup, query("select 1")]), step: 1 });
  });
});
