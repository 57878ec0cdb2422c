import { afterEach, describe, expect, test } from "vitest";
import type { PlatformError } from "../../../core/errors/platform-error.ts";
import { engineSession, type InsideEngineSession } from "../../../test/inside/engine-session.ts";
import { type Cut, pour, type ScriptedPart, type ScriptedServer, scriptedServer } from "../../../test/inside/scripted-server.ts";
import { encodeCommand } from "./resp.ts";
import { serveRedis } from "./serve-redis.ts";

const whoami = encodeCommand(["ACL", "WHOAMI"]);
const alice = Buffer.from("$5\r\nalice\r\n");
const get = encodeCommand(["GET", "k"]);
const reply = Buffer.from("*2\r\n$5\r\nvalue\r\n:7\r\n");
const got = (length: number) => (received: Buffer) => received.length >= length;
const parts: readonly ScriptedPart[] = [
  { when: got(whoami.length), send: alice },
  { when: got(get.length), send: reply },
];
/** Maximum bytes that an agent may hold for a peer that reads nothing. */
const held = 1_000_000;

describe("hostile peers of a Redis session", () => {
  let server: ScriptedServer | undefined;
  let inside: InsideEngineSession | undefined;
  let ended: Promise<PlatformError | undefined> | undefined;
  afterEach(async () => {
    inside?.near.destroy();
    await server?.[Symbol.asyncDispose]();
    await ended;
  });

  async function start(cut?: Cut) {
    server = await scriptedServer(parts, cut);
    inside = await engineSession({ protocol: "redis", port: server.port, asked: { user: "alice" } });
    ended = serveRedis(inside.session);
    return { ...inside, server, ended };
  }

  async function loggedIn() {
    const one = await start();
    let text = "";
    one.near.on("data", (chunk: Buffer) => (text += chunk.toString("latin1"))).write(get);
    await expect.poll(() => text).toBe(reply.toString());
    const [upstream] = one.server.sockets;
    const [road] = one.dialled;
    if (upstream === undefined || road === undefined) throw new Error("there is no connection to the server");
    return { ...one, upstream, road, client: one.session.client, text: () => text };
  }

  test.for<readonly [what: string, piece: Buffer]>([
    ["published messages", Buffer.from(`>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$60000\r\n${"x".repeat(60_000)}\r\n`)],
    ["elements of one reply", Buffer.from(`$60000\r\n${"x".repeat(60_000)}\r\n`)],
    ["one line", Buffer.alloc(60_000, "x")],
  ])("endless %s for a client that does not read stay at the server", async ([what, piece]) => {
    const { near, bytes, upstream, road, client, ended: over } = await loggedIn();
    near.pause();
    if (what === "elements of one reply") upstream.write("*999999999999\r\n");
    if (what === "one line") upstream.write("-ERR ");
    expect(await pour(upstream, { piece, most: 100_000_000, taken: () => bytes.transmitted })).toBeLessThan(100_000_000);
    expect(client.writableLength + road.readableLength).toBeLessThan(held);
    expect(client.destroyed).toBe(false);
    near.destroy();
    await over;
  });

  test.for<readonly [what: string, piece: Buffer]>([
    ["commands", Buffer.concat(Array.from({ length: 10_000 }, () => get))],
    ["refused commands", Buffer.concat(Array.from({ length: 10_000 }, () => encodeCommand(["RESET"])))],
    ["refused commands, each with another answer", Buffer.concat(Array.from({ length: 5_000 }, (_, n) => encodeCommand(["AUTH", `bob${n}`, "x"])))],
    ["empty commands and lines", Buffer.from("*0\r\n\r\nping\n".repeat(10_000))],
  ])("endless %s for a server that does not read stay at the client", async ([, piece]) => {
    const { near, bytes, upstream, road, client, ended: over } = await loggedIn();
    upstream.pause();
    expect(await pour(near, { piece, most: 100_000_000, taken: () => bytes.received })).toBeLessThan(100_000_000);
    expect(road.writableLength + client.readableLength).toBeLessThan(held);
    expect(client.destroyed).toBe(false);
    near.destroy();
    upstream.destroy();
    await over;
  });

  test("a value of 512 MB streams, and so does one that is never completed", async () => {
    const { near, bytes, upstream, road, client, ended: over } = await loggedIn();
    upstream.pause();
    near.write(`*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$${512 * 1024 * 1024}\r\n`);
    expect(await pour(near, { piece: Buffer.alloc(1_000_000, 1), most: 100_000_000, taken: () => bytes.received })).toBeLessThan(100_000_000);
    expect(road.writableLength + client.readableLength).toBeLessThan(held);
    expect(client.destroyed).toBe(false);
    near.destroy();
    upstream.destroy();
    await over;
  });

  test("a login in single bytes is read, and an endless one is refused", async () => {
    server = await scriptedServer([{ when: got(whoami.length), send: alice }]);
    inside = await engineSession({ protocol: "redis", port: server.port });
    ended = serveRedis(inside.session);
    const { near, logins } = inside;
    near.setNoDelay(true).on("error", () => {});
    near.resume();
    for (const byte of encodeCommand(["AUTH", "alice", "sesame"])) near.write(Buffer.of(byte));
    await expect.poll(() => logins.length).toBe(1);
    near.destroy();
    await ended;
    inside = await engineSession({ protocol: "redis", port: server.port });
    ended = serveRedis(inside.session);
    inside.near.resume().write(Buffer.alloc(100_000, "x"));
    expect(await ended).toMatchObject({ code: "invalid" });
  });

  test("a server may leave after any byte", async () => {
    for (let at = 0; at <= alice.length + reply.length - 1; at += 3) {
      const one = await start({ at, how: at % 2 === 0 ? "end" : "destroy" });
      one.near.on("error", () => {}).resume();
      one.near.end(get);
      expect(await one.ended, `after ${at} bytes`).not.toMatchObject({ code: "internal" });
      expect(one.session.client.destroyed).toBe(true);
      await one.server[Symbol.asyncDispose]();
    }
  });

  test("a client may leave after any byte", async () => {
    for (let at = 0; at <= get.length; at += 1) {
      const one = await start();
      one.near
        .on("error", () => {})
        .resume()
        .write(get.subarray(0, at));
      if (at % 2 === 0) one.near.end();
      else one.near.destroy();
      expect(await one.ended, `after ${at} bytes`).not.toMatchObject({ code: "internal" });
      await one.server[Symbol.asyncDispose]();
    }
  });
});
