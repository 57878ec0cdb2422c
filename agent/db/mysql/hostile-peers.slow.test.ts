import { afterEach, describe, expect, test, vi } from "vitest";
import { capability } from "../../../core/databases/mysql/capabilities.ts";
import { encodeGreeting } from "../../../core/databases/mysql/greeting.ts";
import { packet } from "../../../core/databases/mysql/packet.ts";
import type { PlatformError } from "../../../core/errors/platform-error.ts";
import { expectClientMayLeave, expectStaysAtClient, expectStaysAtServer, HostilePeers, roadsOf } from "../../../test/inside/hostile-peers.ts";
import type { Cut, ScriptedPart } from "../../../test/inside/scripted-server.ts";
import { encodeLogin, encodeTlsRequest } from "./login-packet.ts";
import { mysqlEngine } from "./serve-mysql.ts";
import { okPacket } from "./server-answer.ts";
import { Statements } from "./statements.ts";

const plugin = "caching_sha2_password";
const flags = capability.mysql | capability.protocol41 | capability.secureConnection | capability.pluginAuth | capability.deprecateEof;
const login = { capabilities: { flags, extended: 0 }, maxPacket: 1 << 24, charset: 45, user: "alice", schema: "", attributes: Buffer.alloc(0) };
const loginBytes = packet(1, encodeLogin(login, plugin));
const tlsBytes = packet(1, encodeTlsRequest(login));
const greeting = packet(
  0,
  encodeGreeting({
    version: "9.7.4",
    connectionId: 42,
    salt: Buffer.alloc(20, 7),
    capabilities: { flags: 0xdfff_ffff, extended: 0 },
    charset: 255,
    status: 2,
    plugin,
  }),
);
const query = packet(0, Buffer.from("\u0003select 1"));
const columns = packet(1, Buffer.of(1));
const definition = (sequence: number): Buffer => packet(sequence, Buffer.concat([Buffer.from("\u0003def"), Buffer.alloc(20)]));
const got = (length: number) => (received: Buffer) => received.length >= length;

describe("hostile peers of a MySQL session", () => {
  const peers = new HostilePeers();
  afterEach(async () => {
    vi.useRealTimers();
    await peers.close();
  });

  const ok = okPacket(3, 2);
  const parts: readonly ScriptedPart[] = [
    { when: () => true, send: greeting },
    { when: got(tlsBytes.length + 10), send: ok },
    { when: got(1), send: Buffer.concat([columns, definition(2)]) },
  ];
  const start = (script: readonly ScriptedPart[] = parts, cut?: Cut) => peers.open({ engine: mysqlEngine(), protocol: "mysql", parts: script, cut });

  /** A logged-in session whose client reads only what `near.resume` lets it. */
  async function loggedIn(script?: readonly ScriptedPart[]) {
    const one = await start(script);
    let text = "";
    one.near.on("data", (chunk: Buffer) => (text += chunk.toString("latin1"))).write(loginBytes);
    await expect.poll(() => text.endsWith(okPacket(2, 2).toString("latin1"))).toBe(true);
    return one;
  }

  test.for<readonly [what: string, script: readonly ScriptedPart[], code: string]>([
    ["a greeting without an end", [{ when: () => true, send: Buffer.concat([Buffer.of(0, 16, 0, 0), Buffer.alloc(4_000, 10)]) }], "timeout"],
    ["a greeting of 16 MB", [{ when: () => true, send: Buffer.of(254, 255, 255, 0, 10) }], "invalid"],
    ["endless rounds of the login", [parts[0] as ScriptedPart, { when: got(tlsBytes.length + 10), send: switches() }], "unavailable"],
    ["nothing after the login", [parts[0] as ScriptedPart], "timeout"],
  ])("%s ends within seconds", async ([, script, code]) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { near, ended: end } = await start(script);
    near.on("error", () => {}).resume();
    near.write(loginBytes);
    let reason: PlatformError | undefined | "none" = "none";
    void end.then((why) => (reason = why));
    await expect
      .poll(async () => {
        await vi.advanceTimersByTimeAsync(1_000);
        return reason;
      })
      .toMatchObject({ code });
  });

  test("endless rows for a client that does not read stay at the server, also in packets of 16 MB", async () => {
    const one = await loggedIn();
    const { upstream, client } = roadsOf(one);
    one.near.write(query);
    await expect.poll(() => client.writableLength === 0 && upstream.bytesWritten > greeting.length + ok.length).toBe(true);
    one.near.pause();
    const long = Buffer.concat([Buffer.of(255, 255, 255, 3), Buffer.alloc(0xff_ffff, 1), Buffer.of(255, 255, 255, 4), Buffer.alloc(0xff_ffff, 1)]);
    await expectStaysAtServer(one, long);
    one.near.destroy();
    expect(await one.ended).toBeUndefined();
  });

  test.for<readonly [what: string, piece: Buffer]>([
    ["pings", Buffer.concat(Array.from({ length: 10_000 }, () => packet(0, Buffer.of(0x0e))))],
    ["refused commands", Buffer.concat(Array.from({ length: 10_000 }, () => packet(0, Buffer.of(0x12))))],
    ["prepared statements", Buffer.concat(Array.from({ length: 5_000 }, () => packet(0, Buffer.from("\u0016select ?"))))],
  ])("endless %s for a server that answers nothing stay at the client", async ([, piece]) => {
    const one = await loggedIn([parts[0] as ScriptedPart, parts[1] as ScriptedPart]);
    roadsOf(one).upstream.resume();
    await expectStaysAtClient(one, piece);
  });

  test("a server that has lost the agent's track gets no file either: what a client would send of it is out of order", async () => {
    // For the agent the result goes on; for the client the next answer is a request for a file.
    const one = await loggedIn();
    const { near, server: base, ended: over } = one;
    const { upstream } = roadsOf(one);
    near.write(query);
    await expect.poll(() => upstream.bytesWritten).toBeGreaterThan(greeting.length + ok.length);
    const before = upstream.bytesRead;
    upstream.write(packet(3, Buffer.from("\u00fb/etc/passwd", "latin1")));
    near.write(packet(4, Buffer.from("root:x:0:0")));
    expect(await over).toMatchObject({ code: "invalid" });
    expect(base.sockets[0]?.bytesRead).toBe(before);
  });

  test("a session remembers 4,096 statements, and of each only the long data that an event shows", () => {
    const statements = new Statements();
    let number = 0;
    for (; !statements.isFull; number += 1) {
      const one = statements.begin("insert ?");
      statements.answered(one, { statement: number, parameters: 1_000 });
      statements.addLong(number, number % 65_536, 7);
    }
    expect(number).toBe(4_096);
    for (let parameter = 0; parameter < 65_536; parameter += 1) statements.addLong(4_095, parameter, 7);
    expect(statements.get(4_095)?.long.size).toBe(64);
  });

  test("a server may leave after any byte", async () => {
    const whole = greeting.length + ok.length + columns.length + definition(2).length;
    for (let at = 0; at < whole; at += 5) {
      const one = await start(parts, { at, how: at % 2 === 0 ? "end" : "destroy" });
      one.near.on("error", () => {}).resume();
      one.near.write(loginBytes);
      one.near.write(query);
      expect(await one.ended, `after ${at} bytes`).not.toMatchObject({ code: "internal" });
      expect(one.session.client.destroyed).toBe(true);
      await peers.close();
    }
  });

  test("a client may leave after any byte", async () => {
    await expectClientMayLeave(peers, { open: () => start(), bytes: Buffer.concat([loginBytes, query]), step: 5 });
  });
});

/** Requests for another plugin, one after the other. */
function switches(): Buffer {
  return Buffer.concat(
    Array.from({ length: 40 }, (_, round) => packet(3 + 2 * round, Buffer.from("\u00femysql_native_password\0\u0001\u0001\0", "latin1"))),
  );
}
