import { afterEach, describe, expect, test } from "vitest";
import { expectClientMayLeave, expectStaysAtClient, expectStaysAtServer, HostilePeers, roadsOf } from "../../../test/inside/hostile-peers.ts";
import type { Cut, ScriptedPart } from "../../../test/inside/scripted-server.ts";
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

describe("hostile peers of a Redis session", () => {
  const peers = new HostilePeers();
  afterEach(() => peers.close());

  const start = (cut?: Cut) => peers.open({ engine: serveRedis, parts, cut, protocol: "redis", asked: { user: "alice" } });

  async function loggedIn() {
    const one = await start();
    let text = "";
    one.near.on("data", (chunk: Buffer) => (text += chunk.toString("latin1"))).write(get);
    await expect.poll(() => text).toBe(reply.toString());
    return one;
  }

  test.for<readonly [what: string, piece: Buffer]>([
    ["published messages", Buffer.from(`>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$60000\r\n${"x".repeat(60_000)}\r\n`)],
    ["elements of one reply", Buffer.from(`$60000\r\n${"x".repeat(60_000)}\r\n`)],
    ["one line", Buffer.alloc(60_000, "x")],
  ])("endless %s for a client that does not read stay at the server", async ([what, piece]) => {
    const one = await loggedIn();
    const { upstream } = roadsOf(one);
    one.near.pause();
    if (what === "elements of one reply") upstream.write("*999999999999\r\n");
    if (what === "one line") upstream.write("-ERR ");
    await expectStaysAtServer(one, piece);
  });

  test.for<readonly [what: string, piece: Buffer]>([
    ["commands", Buffer.concat(Array.from({ length: 10_000 }, () => get))],
    ["refused commands", Buffer.concat(Array.from({ length: 10_000 }, () => encodeCommand(["RESET"])))],
    ["refused commands, each with another answer", Buffer.concat(Array.from({ length: 5_000 }, (_, n) => encodeCommand(["AUTH", `bob${n}`, "x"])))],
    ["empty commands and lines", Buffer.from("*0\r\n\r\nping\n".repeat(10_000))],
  ])("endless %s for a server that does not read stay at the client", async ([, piece]) => {
    const one = await loggedIn();
    roadsOf(one).upstream.pause();
    await expectStaysAtClient(one, piece);
  });

  test("a value of 512 MB streams, and so does one that is never completed", async () => {
    const one = await loggedIn();
    roadsOf(one).upstream.pause();
    one.near.write(`*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$${512 * 1024 * 1024}\r\n`);
    await expectStaysAtClient(one, Buffer.alloc(1_000_000, 1));
  });

  test("a login in single bytes is read, and an endless one is refused", async () => {
    const login = () => peers.open({ engine: serveRedis, parts: parts.slice(0, 1), protocol: "redis" });
    const { near, logins } = await login();
    near.setNoDelay(true).on("error", () => {});
    near.resume();
    for (const byte of encodeCommand(["AUTH", "alice", "sesame"])) near.write(Buffer.of(byte));
    await expect.poll(() => logins.length).toBe(1);
    const endless = await login();
    endless.near.resume().write(Buffer.alloc(100_000, "x"));
    expect(await endless.ended).toMatchObject({ code: "invalid" });
  });

  test("a server may leave after any byte", async () => {
    for (let at = 0; at <= alice.length + reply.length - 1; at += 3) {
      const one = await start({ at, how: at % 2 === 0 ? "end" : "destroy" });
      one.near.on("error", () => {}).resume();
      one.near.end(get);
      expect(await one.ended, `after ${at} bytes`).not.toMatchObject({ code: "internal" });
      expect(one.session.client.destroyed).toBe(true);
      await peers.close();
    }
  });

  test("a client may leave after any byte", async () => {
    await expectClientMayLeave(peers, { open: () => start(), bytes: get, step: 1 });
  });
});
